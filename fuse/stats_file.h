/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats_file.h - the statistics in a file (statsfile=)
 *
 * The JSON of user.bloscfs.stats, renewed while the mount is used and at its
 * end.  It is replaced by a rename, so that no reader sees half of it.
 *
 * Layer: fuse.  Threads: the ticker's; the others from the main one, before
 * and after that.
 */
#ifndef B2F_FUSE_STATS_FILE_H
#define B2F_FUSE_STATS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "b2frame/error.h"

struct fs;

struct fs_stats_file {
	/* The directory; -1 without a name. */
	int dir_fd;
	/* NULL: there is none. */
	char *name;
	/* fs_stats_uses() at the last write. */
	uint64_t nuses;
	/* Ticks since. */
	unsigned int age;
	/* A failure has been logged. */
	bool failed;
};

/* Opens the directory of @path.  Returns 0, -ENOMEM or the errno of open(2). */
B2F_MUST_CHECK
int fs_stats_file_open(struct fs *fs, const char *path);

/*
 * Called every second; writes now and then.  Returns whether it wants to be
 * called again though nothing else happens.
 */
bool fs_stats_file_tick(struct fs *fs);

/* Writes a last time. */
void fs_stats_file_end(struct fs *fs);

/* Both do nothing if there is none. */
void fs_stats_file_close(struct fs *fs);

#endif
