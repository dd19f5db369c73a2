/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuse_api.h - the version of libfuse's interface that this code uses
 *
 * Include this, never <fuse_lowlevel.h> itself, so that all files agree.
 *
 * Layer: fuse.  Threads: -
 */
#ifndef B2F_FUSE_FUSE_API_H
#define B2F_FUSE_FUSE_API_H

#define FUSE_USE_VERSION 314

#include <fuse_lowlevel.h>
#include <stdint.h>
#include <sys/ioctl.h>

/*
 * Newer parts of the kernel's protocol.  libfuse has names for them from 3.17
 * on, but every version logs a refusal once per file.  Older kernels ignore
 * them.
 */

/* Bits of @flags2 in the answer to FUSE_INIT; Linux 6.6 and 6.9. */
#define FS_INIT2_MMAP_DIRECT (1u << 4)
#define FS_INIT2_PASSTHROUGH (1u << 5)

/* The answer to an open: the kernel reads and writes @backing_id itself. */
struct fs_open_answer {
	uint64_t fh;
	uint32_t open_flags;
	int32_t backing_id;
};

#define FS_OPEN_PASSTHROUGH (1u << 7)

/* The requests that make and remove the number of a backing file. */
struct fs_backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};

#define FS_BACKING_OPEN	 _IOW(229, 1, struct fs_backing_map)
#define FS_BACKING_CLOSE _IOW(229, 2, uint32_t)

#endif
