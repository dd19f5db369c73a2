/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * durable.h - the table of frames that may not survive a loss of power
 *
 * A new file that is closed, but not fsync'ed, becomes durable some seconds
 * later, by one syncfs(2) of the ticker for all such files.  Until then it is
 * in this table, even if the kernel forgets it.  Commits move the state of its
 * contents (programs/durability.h) while it is open for writing, syncs when it
 * is not.  The table alone owns that state, and also knows whether the *name*
 * of the frame in its directory is durable.
 *
 *   made              NEW, with a new name
 *   renamed           with a new name
 *   opened to write   the commits of the frame move it; a sync does not, unless
 *                     it fails: then it has failed for this frame as well
 *   closed            left to the next syncfs that begins
 *   syncfs            durable, if it was left before that began; if that fails,
 *                     FAILED, and written anew at once
 *   fsync, rename     of a frame that is not open for writing: durable, by one
 *   over another      fsync per file
 *   deleted           forgotten
 *
 * Programs that write NEW.tmp and rename it over NEW expect that a loss of
 * power leaves the old file or the new one, as on ext4.  So a frame becomes
 * durable before it replaces one that may be.
 *
 * Layer: fuse.  Threads: any.  The table is under fs->state_lock ("locked").
 */
#ifndef B2F_FUSE_DURABLE_H
#define B2F_FUSE_DURABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <uthash.h>

#include "b2frame/error.h"
#include "programs/durability.h"

struct fs;
struct fs_durable;
struct fs_backed;
struct fs_found;
struct fs_open_frame;
struct fs_sync;

struct fs_durables {
	/* One thread syncs at a time; before all other locks. */
	pthread_mutex_t sync_lock;
	/* The rest is under fs->state_lock. */
	/* A uthash by device and inode number of their directories. */
	struct fs_durable *all;
	/* Filesystems that are to be synced. */
	struct fs_sync *syncs;
	/*
	 * Ticks whenever something is left to a sync, so that a sync knows what
	 * came before it began.
	 */
	uint64_t clock;
};

/* Notes that the frame @node was made below @dirfd.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_durable_note_made(struct fs *fs, struct fs_backed *node, int dirfd);

/* Notes that the frame @node has a new name below @dirfd. */
void fs_durable_note_renamed(struct fs *fs, struct fs_backed *node, int dirfd);

/* Notes that @frame, open for writing, has become another new one below @dirfd. */
void fs_durable_note_form(struct fs *fs, struct fs_open_frame *frame,
			  int dirfd);

/* Notes that it was deleted. */
void fs_durable_forget(struct fs *fs, struct fs_backed *node);

/*
 * Notes that @frame is about to be open for writing, until fs_durable_close().
 * Returns its state for b2f_write_options; NULL: no memory.
 */
struct b2f_durability *fs_durable_open(struct fs *fs,
				       struct fs_open_frame *frame);

/* Notes that @frame is closed; does nothing if it was not open for writing. */
void fs_durable_close(struct fs *fs, struct fs_open_frame *frame);

/* The state of the contents of a frame; DURABLE if it is not in the table. */
enum b2f_durable_state fs_durable_state(struct fs *fs, dev_t dev, ino_t ino);

/*
 * Syncs the contents of a frame that is not open for writing; @path_fd is its
 * directory.  Returns 0, -EIO (a sync of it has failed: it must be written
 * anew) or an errno of fsync(2).
 */
B2F_MUST_CHECK
int fs_durable_make_contents(struct fs *fs, dev_t dev, ino_t ino, int path_fd);

/*
 * Syncs the directory in which the frame @node has its name, if the name is
 * new.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_durable_make_name(struct fs *fs, struct fs_backed *node, dev_t dev,
			 ino_t ino);

/*
 * durable_sync.c: syncs of whole filesystems, and of frames one by one.  _found and _now
 * from any thread; the rest from the ticker's, or when that has ended.  All but _waits and
 * _is_crowded block on I/O.
 */

/*
 * Makes the contents of the frame @found durable; @node is its node, or NULL if
 * the kernel does not know it.  Returns as b2f_file_commit(), or an errno
 * of fsync(2).
 */
B2F_MUST_CHECK
int fs_durable_sync_found(struct fs *fs, struct fs_backed *node,
			  const struct fs_found *found);

/* Is there something to be synced, sooner or later? */
bool fs_durable_sync_waits(struct fs *fs);

/* Are so many frames waiting that they should not wait for the timer? */
bool fs_durable_sync_is_crowded(struct fs *fs);

/*
 * Syncs the filesystems that have been waiting for @age_s seconds.  Returns 0,
 * or the first error of what could not be made durable.
 */
B2F_MUST_CHECK
int fs_durable_sync_due(struct fs *fs, time_t age_s);

/*
 * Commits all that is open, and makes it durable, and what waits for that.  Returns 0,
 * or the first error.
 */
B2F_MUST_CHECK
int fs_durable_sync_now(struct fs *fs);

/*
 * Makes all durable that waits for it; everything is closed.  Returns 0, or an
 * error: then something may be lost, as is logged.
 */
B2F_MUST_CHECK
int fs_durable_sync_fini(struct fs *fs);

/* Shared by durable.c and durable_sync.c. */

struct fs_durable_key {
	dev_t dev;
	ino_t ino;
};

/* A frame that is open for writing, or not yet durable. */
struct fs_durable {
	struct fs_durable_key key;
	/* Commits move it without a lock. */
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
