/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config.h - the configuration, derived from the options
 *
 * Layer: fuse.  Threads: read-only after the start.
 */
#ifndef B2F_FUSE_CONFIG_H
#define B2F_FUSE_CONFIG_H

#include <sys/types.h>

#include "b2frame/log.h"
#include "b2frame/write.h"
#include "mount_options.h"
#include "source.h"

struct fs_config {
	struct b2f_runtime_options runtime;
	struct b2f_write_options write;
	struct b2f_settings new_files;
	/* A new file up to this size is a contiguous frame; 0: never. */
	uint64_t small_bytes;
	enum b2f_log_level log_level;
	/* Nanoseconds between timed commits; 0: no timer. */
	uint64_t commit_ns;
	/* Permission bits that are not shown. */
	mode_t file_mask;
	mode_t dir_mask;
	bool background;
	/*
	 * The kernel reads and writes plain files itself.  Decided by the first
	 * request; false once the kernel has refused it.
	 */
	_Atomic bool passes;
};

/*
 * Derives the configuration from @options.  Returns 0; or -EINVAL, with @reason
 * set, if these settings cannot make a new file.
 */
B2F_MUST_CHECK
int fs_config_make(const struct fs_options *options, struct fs_config *out,
		   char reason[FS_REASON_SIZE]);

#endif
