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

/* A frame that is open for writing, or not yet durable. */
struct fs_durable {
	struct fs_durable_key key;
	/* Commits move it without the lock. */
	struct b2f_durability contents;
	/* With a reference, to be able to open it; NULL: it was deleted. */
	struct fs_backed *node;
	/* Open frames that may write. */
	size_t nusers;
	/* When it was last left to a sync, by the table's clock. */
	uint64_t left_at;
	/*
	 * When it got its name, by the table's clock; 0: the name is durable.
	 */
	uint64_t name_at;
	UT_hash_handle hh;
};

/* A filesystem that is to be synced. */
struct fs_sync {
	struct fs_sync *next;
	dev_t dev;
	int fd;
	/* When the first frame was left to it, on the monotonic clock. */
	time_t since_s;
};

/*
 * Takes @d out of the table; its users may still have it.  Returns its node,
 * whose reference the caller gives back without the lock.  Locked.
 */
struct fs_backed *fs_durable_drop(struct fs *fs, struct fs_durable *d);

/* Is all of @d durable, and is it not being written?  Locked. */
bool fs_durable_is_done(const struct fs_durable *d);

/* Adds @sync, which it takes over; drops it if its filesystem has one. */
void fs_durable_add_sync(struct fs *fs, struct fs_sync *sync);

void fs_durable_free_sync(struct fs_sync *sync);

#endif
