/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * durable_table.h - what durable.c shares with durable_sync.c
 *
 * Layer: fuse.  Threads: as durable.h.
 */
#ifndef B2F_FUSE_DURABLE_TABLE_H
#define B2F_FUSE_DURABLE_TABLE_H

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

/* Adds @sync, which it takes over, unless that filesystem is among them. */
void fs_durable_add_sync(struct fs *fs, struct fs_sync *sync);

void fs_durable_free_sync(struct fs_sync *sync);

#endif
