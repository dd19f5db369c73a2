/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * durable.h - the table of files that are not durable yet
 *
 * The ticker makes new files durable that were closed without fsync: some
 * seconds later, by one syncfs(2) for all.  Until then they are in this table,
 * even if the kernel forgets them.  The table owns the state of a frame's
 * contents (programs/durability.h), which commits change while the frame is
 * open for writing, and syncs otherwise.  It also knows whether the frame's
 * *name* in its directory is durable.
 *
 *   made              NEW, with a new name
 *   renamed           with a new name
 *   opened to write   commits of the frame change the state; a sync does not,
 *                     unless it fails: then it has failed for this frame, too
 *   closed            waits for the next syncfs that begins
 *   syncfs            durable, if it waited before that began; if the syncfs
 *                     fails, FAILED, and written again at once
 *   fsync, rename     of a frame without a transaction: durable, after one
 *   over another      fsync per file
 *   no frame          waits for the next syncfs after its close, a change of
 *                     its attributes, or a rename; if the syncfs fails, data
 *                     are lost
 *   deleted           forgotten; if another program deletes it, as soon as
 *                     another file has its inode number
 *
 * Programs that write NEW.tmp and rename it over NEW expect that a loss of
 * power leaves the old file or the new one, as on ext4.  So a frame is synced
 * before it replaces one that may be durable.
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
	/* Held by the one thread that syncs; taken before all other locks. */
	pthread_mutex_t sync_lock;
	/* The rest is under fs->state_lock. */
	/* A uthash, by device and inode number of the frames' directories. */
	struct fs_durable *all;
	/* Filesystems that wait for a sync. */
	struct fs_sync *syncs;
	/*
	 * Advances whenever a frame is left to a sync, so that a sync knows
	 * which frames came before it.
	 */
	uint64_t clock;
};

/* Notes the new frame @node below @dirfd.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_durable_note_made(struct fs *fs, struct fs_backed *node, int dirfd);

/*
 * Notes that @node has a new name, or was changed and is no frame: the next
 * sync has to begin after now.  @path_fd is on its filesystem.
 */
void fs_durable_note_changed(struct fs *fs, struct fs_backed *node,
			     int path_fd);

/*
 * Notes that @frame, open for writing, was replaced by another new file or
 * directory below @dirfd.
 */
void fs_durable_note_form(struct fs *fs, struct fs_open_frame *frame,
			  int dirfd);

/* Notes that @node was deleted. */
void fs_durable_forget(struct fs *fs, struct fs_backed *node);

/*
 * Notes that @frame is to be opened for writing, until fs_durable_close().
 * Returns its state for b2f_write_options; NULL: no memory.
 */
struct b2f_durability *fs_durable_open(struct fs *fs,
				       struct fs_open_frame *frame);

/* Notes that @frame is closed; does nothing if it was not open for writing. */
void fs_durable_close(struct fs *fs, struct fs_open_frame *frame);

/* The state of the contents of a frame; DURABLE if it is not in the table. */
enum b2f_durable_state fs_durable_state(struct fs *fs, dev_t dev, ino_t ino);

/*
 * Syncs the contents of a frame that is not open; @path_fd is its directory, or
 * its file.  Returns 0, -EIO (an earlier sync failed: the contents must be
 * written again) or an errno of fsync(2).
 */
B2F_MUST_CHECK
int fs_durable_make_contents(struct fs *fs, dev_t dev, ino_t ino, int path_fd);

/* Makes the name of @frame durable if it is new.  0 or an errno. */
B2F_MUST_CHECK
int fs_durable_make_name(struct fs *fs, const struct fs_open_frame *frame);

/*
 * durable_sync.c: syncs whole filesystems, and single frames.  _found and _now
 * from any thread; the others from the ticker, or after its end.  All but
 * _waits block on I/O.
 */

/*
 * Makes the contents of the frame @found durable; @node is its node, or NULL if
 * the kernel does not know it.  Returns as b2f_file_commit(), or an errno of
 * fsync(2).
 */
B2F_MUST_CHECK
int fs_durable_sync_found(struct fs *fs, struct fs_backed *node,
			  const struct fs_found *found);

/* Does any frame wait for a sync? */
bool fs_durable_sync_waits(struct fs *fs);

/*
 * Syncs the filesystems that have waited for @age_s seconds, or if very many
 * frames wait.  Returns 0 or the first error.
 */
B2F_MUST_CHECK
int fs_durable_sync_due(struct fs *fs, time_t age_s);

/*
 * Commits all open files durably, and syncs all frames that wait.  Returns 0,
 * the first error, or -EIO if changes have been dropped before.
 */
B2F_MUST_CHECK
int fs_durable_sync_now(struct fs *fs);

/*
 * Syncs all frames that wait; every file is closed.  Returns 0, or an error:
 * data may be lost then, which is logged.
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
	/* The state of its contents, which commits change without a lock. */
	struct b2f_durability contents;
	/* A reference, to open the frame; NULL: it was deleted. */
	struct fs_backed *node;
	/* Open frames that may write to it. */
	size_t nusers;
	/* When it was last left to a sync, by the table's clock. */
	uint64_t left_at;
	/*
	 * When it got its name, or was changed and is no frame, by that clock;
	 * 0: that is durable.
	 */
	uint64_t name_at;
	UT_hash_handle hh;
};

/* A filesystem that waits for a sync. */
struct fs_sync {
	struct fs_sync *next;
	dev_t dev;
	/* A file on it, or negative: none could be opened yet. */
	int fd;
	/* When it began to wait, on the monotonic clock. */
	time_t since_s;
};

/*
 * Takes @d out of the table; users may still have it.  Returns its node, whose
 * reference the caller gives back without the lock.  Locked.
 */
struct fs_backed *fs_durable_drop(struct fs *fs, struct fs_durable *d);

/* Is all of @d durable, and not open for writing?  Locked. */
bool fs_durable_is_done(const struct fs_durable *d);

/* Takes over @sync and adds it, or drops it if its filesystem waits already. */
void fs_durable_add_sync(struct fs *fs, struct fs_sync *sync);

void fs_durable_free_sync(struct fs_sync *sync);

#endif
