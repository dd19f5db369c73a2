/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unused.h - ends a mount that has not been used for some time (timeout=)
 *
 * Use is a name that is looked up, an open, a read, a write.  The kernel knows
 * of files and directories that are in use, and does not unmount then.
 *
 * Layer: fuse.  Threads: the ticker's.
 */
#ifndef B2F_FUSE_UNUSED_H
#define B2F_FUSE_UNUSED_H

#include <stdbool.h>
#include <stdint.h>

struct fs;

struct fs_unused {
	/* fs_stats_uses() at the last look. */
	uint64_t nuses;
	/* Seconds that it has been so. */
	int64_t since_s;
};

/*
 * Called every second; unmounts if it is time.  Returns whether it wants to be
 * called again though nothing else happens.
 */
bool fs_unused_tick(struct fs *fs);

#endif
