/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * durable.h - frames that may not survive a loss of power, and when they do
 *
 * A new file that was closed, but not fsync'ed, is durable some seconds later:
 * one syncfs(2) of the ticker does it for all of them.  Until then it is in a
 * table here, whatever the kernel forgets of it.  What is known of its contents
 * is a struct b2f_durability (b2frame/durability.h has the states), which
 * commits move while the frame is open for writing, and syncs when it is not.
 * This table alone owns it, and knows besides whether the *name* of the frame
 * in its directory is durable.
 *
 *   made              NEW, with a new name
 *   renamed           with a new name
 *   opened to write   the commits of the file move it; syncs leave it alone,
 *                     but if one fails, it has failed for it as well
 *   closed            left to the next syncfs that begins
 *   syncfs            durable, if it was left before that began; FAILED, and
 *                     written anew at once, if that fails
 *   fsync, rename     that of a file that is not open for writing makes it
 *   over another      durable here
 *   deleted           forgotten
 *
 * Programs that write NEW.tmp and rename it over NEW rely on it that after a
 * loss of power NEW is the old file or the new one; ext4 and others see to
 * that.  So does the mount: what is not durable becomes so before it replaces
 * something that may be.
 *
 * Layer: fuse.  Threads: any, but for _init and _fini.  The lock is taken
 * before the tree's, and never held during I/O.
 */
#ifndef B2F_FUSE_DURABLE_H
#define B2F_FUSE_DURABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "b2frame/durability.h"
#include "b2frame/error.h"

struct fs;
struct fs_durable;
struct fs_open_frame;
struct fs_found;
struct fs_node;
struct fs_sync;

struct fs_durables {
	pthread_mutex_t lock;
	/* The rest is under the lock. */
	/* By device and inode number of their directories: a uthash. */
	struct fs_durable *all;
	/* Filesystems that are to be synced. */
	struct fs_sync *syncs;
	/* Counts what is left, so that a sync can tell what came before it. */
	uint64_t clock;
};

void fs_durable_init(struct fs_durables *durables);

/*
 * Makes all durable that waits for it; everything is closed.  Returns 0, or an
 * error: then something may be lost, as is logged.
 */
B2F_MUST_CHECK
int fs_durable_fini(struct fs *fs);

/* The frame @node was made below @dirfd.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_durable_note_made(struct fs *fs, struct fs_node *node, int dirfd);

/* The sparse frame @node has got another name below @dirfd. */
void fs_durable_note_renamed(struct fs *fs, struct fs_node *node, int dirfd);

/* It was deleted. */
void fs_durable_forget(struct fs *fs, struct fs_node *node);

/*
 * For b2f_write_options: @frame is about to be open for writing, until
 * fs_durable_close().  NULL without memory.
 */
struct b2f_durability *fs_durable_open(struct fs *fs,
				       struct fs_open_frame *frame);

/* It is closed, if it was open; @dirfd is any directory beside it, or it. */
void fs_durable_close(struct fs *fs, struct fs_open_frame *frame);

/* Is the frame @found surely not durable, so that it can be replaced at once?
 */
bool fs_durable_is_new(struct fs *fs, const struct fs_found *found);

/*
 * Makes the frame @frame durable, and its name, after a commit that did so with
 * what it had to commit: nothing, unless it was @writable before.  Returns 0 or
 * an errno of fsync(2), or of what it takes to write it anew.
 */
B2F_MUST_CHECK
int fs_durable_make(struct fs *fs, struct fs_open_frame *frame, bool writable);

/*
 * Makes the contents of the frame @found durable; @node is its node, or NULL if
 * the kernel does not know it.  Returns as fs_open_frame_commit().
 */
B2F_MUST_CHECK
int fs_durable_make_found(struct fs *fs, struct fs_node *node,
			  const struct fs_found *found);

/* Is there something to be synced, sooner or later? */
bool fs_durable_waits(struct fs *fs);

/* Are so many frames waiting that they should not wait for the timer? */
bool fs_durable_is_crowded(struct fs *fs);

/*
 * Syncs the filesystems that have been waiting for @age_s seconds.  Returns 0,
 * or the first error of what could not be made durable.
 */
B2F_MUST_CHECK
int fs_durable_sync(struct fs *fs, time_t age_s);

#endif
