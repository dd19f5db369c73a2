/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * durable_sync.h - between the source files of durable.h
 *
 * Layer: fuse.  Threads: as durable.h.
 */
#ifndef B2F_FUSE_DURABLE_SYNC_H
#define B2F_FUSE_DURABLE_SYNC_H

#include <uthash.h>

#include "durable.h"

struct fs_durable_key {
	dev_t dev;
	ino_t ino;
};

/* A frame of which something may not be durable, or that is being written. */
struct fs_durable {
	struct fs_durable_key key;
	/* Moves without the lock, too. */
	struct b2f_durability contents;
	/* With a reference, as it takes one to open it; NULL: it was deleted.
	 */
	struct fs_node *node;
	/* Open files that may write. */
	size_t nusers;
	/* When it was made, or closed, last. */
	uint64_t left_at;
	/* When it got its name; 0: that is durable. */
	uint64_t name_at;
	UT_hash_handle hh;
};

/* A filesystem that is to be synced. */
struct fs_sync {
	struct fs_sync *next;
	dev_t dev;
	int fd;
	/* Of the oldest one, on the monotonic clock. */
	time_t since_s;
};

/*
 * Forgets @d, which may still be used.  Returns its node, whose reference is
 * the caller's to give back without the lock.  Locked.
 */
struct fs_node *fs_durable_drop(struct fs *fs, struct fs_durable *d);

/* Is all of @d durable, and nothing else to be known of it?  Locked. */
bool fs_durable_is_done(const struct fs_durable *d);

/*
 * Makes the contents of the frame @node durable, which nobody has open.
 * Returns 0, or as fs_durable_make().
 */
B2F_MUST_CHECK
int fs_durable_make_node(struct fs *fs, struct fs_node *node);

/* Something on @dev, which has @dirfd, is to be durable before long. */
void fs_durable_sync_later(struct fs *fs, int dirfd, dev_t dev);

/* Writes the FAILED frame @node anew.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_durable_mend(struct fs *fs, struct fs_node *node);

/* Makes all files of the directory @path_fd durable, and their names. */
B2F_MUST_CHECK
int fs_durable_sync_directory(int path_fd);

/* Its names alone. */
B2F_MUST_CHECK
int fs_durable_sync_names(int path_fd);

#endif
