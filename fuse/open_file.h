/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open_file.h - the open data of a frame, in any volume
 *
 * All handles of a frame share one struct fs_file.  In the tree it is a part of
 * struct fs_open_frame (open_frame.h), in a bucket of the node (bucket_node.h);
 * in a pack, which is only read, the first open makes it (packs.h).  A pack
 * itself is such a file, too.
 *
 *   state      @data  @nrefs  @nwriters  the file, and what ends the state
 *   CLOSED     NULL   0       0          the first open gets the data
 *   IDLE       open   0       0          opening it again would take long, so
 *                                        it stays open for @stays_s
 *   SHARED     open   > 0     0          only read; the last close closes it,
 *                                        or makes it IDLE
 *   WRITTEN    open   > 0     > 0        the last writer commits, and so does
 *                                        the last close
 *   RESTING    open   0       0          in the tree: the index has very many
 *                                        chunks, and stays for some seconds
 *   KEPT       open   any     0          a commit has failed: the changes stay
 *                                        in memory, and the ticker tries again
 *                                        from @retry_s on
 *   REVERTING  open   any     0          a commit was refused (-ESTALE, which
 *                                        its caller reports): the changes are
 *                                        being dropped, and a new writer waits
 *                                        for that; in a bucket the file is
 *                                        REFUSED after that (bucket_writer.h)
 *   HELD       open   any     any        it is being removed or replaced: a
 *                                        commit waits
 *   GONE       open   any     any        it was removed: no commit is made, and
 *                                        the last close drops the changes
 *
 * Layer: fuse.
 *
 * Threads: any.  Fields other than atomics are under fs->state_lock, which the
 * caller holds where a function says so; the other functions take it.
 */
#ifndef B2F_FUSE_OPEN_FILE_H
#define B2F_FUSE_OPEN_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <time.h>

#include "b2frame/write.h"

struct fs;
struct fs_file;

/* Operations of a volume on files that it can write to. */
struct fs_file_ops {
	/* Notes that the data include commits of other programs now. */
	void (*note_foreign)(struct fs *fs, struct fs_file *file);
	/*
	 * Notes that a commit returned @err; @before is the state before.
	 * @foreign: the commit took in changes of others.
	 */
	void (*note_commit)(struct fs *fs, struct fs_file *file,
			    const struct b2f_file_now *before, bool foreign,
			    int err);
	/*
	 * A commit was refused, and no writer is left: goes back to the stored
	 * version, or leaves the file to the programs that have it open.
	 */
	void (*drop_refused)(struct fs *fs, struct fs_file *file);
	/* Commits durably. */
	int (*sync)(struct fs *fs, struct fs_file *file);
	/* Each second: commits old changes, looks for foreign ones. */
	void (*tick)(struct fs *fs, struct fs_file *file);
	/* Has the kernel drop pages.  NULL: its node says which. */
	void (*drop)(struct fs *fs, struct fs_file *file);
	/*
	 * For fs_file_all(), which has added a user: takes what else the user
	 * needs, under the lock (NULL: nothing); and gives all back, without
	 * the lock.
	 */
	void (*ref)(struct fs_file *file);
	void (*put)(struct fs *fs, struct fs_file *file);
};

struct fs_file {
	/* NULL: only read. */
	const struct fs_file_ops *ops;
	union {
		struct b2f_file *data;
		struct b2f_pack *pack;
	};
	bool is_pack;
	/* Users: handles, and requests that need the data. */
	size_t nrefs;
	/* Handles that may write, and changes by name. */
	_Atomic size_t nwriters;
	bool reverting;
	/* A program got the error of a refused commit of its last writers. */
	atomic_bool is_told;
	atomic_bool held;
	atomic_bool gone;
	/* Commits that are under way. */
	_Atomic unsigned int ncommits;
	/* When to try a failed commit again, on the monotonic clock. */
	_Atomic time_t retry_s;
	/* For so many seconds it stays open without a user. */
	unsigned int stays_s;
	/* In the list of active files, where its volume puts it. */
	TAILQ_ENTRY(fs_file) active;
	/* If IDLE: in the list, and until when; otherwise 0. */
	TAILQ_ENTRY(fs_file) idle;
	time_t until_s;
};

/* The open files of a mount. */
struct fs_files {
	/* All open frames of the tree, and of a bucket those with a writer. */
	TAILQ_HEAD(fs_file_active, fs_file) active;
	/* How many chunks all resting frames have. */
	uint64_t rest;
	/* Files that are IDLE, longest first. */
	TAILQ_HEAD(fs_file_idle, fs_file) idle;
	_Atomic size_t nidle;
	/* Refused changes were dropped, and no program was told. */
	atomic_bool lost;
	/* Signalled when a file was opened, closed, reverted, or committed. */
	pthread_cond_t settled;
	/* Requests that sleep until another program's writer ends. */
	atomic_uint nwaiting;
};

void fs_file_init(struct fs_files *files);

/* Is any file active: open, or kept because a commit failed? */
bool fs_file_any(struct fs *fs);

/*
 * Lists all active files, each with a user; give them back with @ops->put().
 * *@out is malloc'ed.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_file_all(struct fs *fs, struct fs_file ***out, size_t *n);

/* For how long to keep a file open that takes requests to open, s. */
#define FS_FILE_STAYS_S 5

/* Adds a user of @file, if it is open; returns NULL otherwise. */
void *fs_file_share(struct fs *fs, struct fs_file *file);

/*
 * Opens @file with @data, which it takes over; if another thread has opened the
 * file, shares that instead.
 */
void *fs_file_add(struct fs *fs, struct fs_file *file, void *data);

/* Removes a user.  The last one makes the file IDLE, or closes it. */
void fs_file_close(struct fs *fs, struct fs_file *file);

/* Makes @file, which is open and has no user, IDLE.  Under the lock. */
void fs_file_rest(struct fs *fs, struct fs_file *file);

/* Takes out the data of an unused @file; or NULL.  Under the lock. */
void *fs_file_take_unused(struct fs *fs, struct fs_file *file);

/* Closes @file, which no thread uses any more. */
void fs_file_fini(struct fs *fs, struct fs_file *file);

/* Closes files that were IDLE too long.  Returns whether any is left. */
bool fs_file_tick(struct fs *fs);

/* Adds a writer, once no changes are being dropped.  Under the lock. */
void fs_file_add_writer(struct fs *fs, struct fs_file *file);

/* Puts the next try of a failed commit off; is it due? */
void fs_file_put_off(struct fs_file *file);
bool fs_file_is_due(const struct fs_file *file);

/*
 * Commits @file; if the commit is refused, the changes are dropped when the
 * last writer has left.  @waits: waits for other programs, and while the file
 * is HELD.  Returns 0, also if it is GONE, or as b2f_file_commit(); without
 * @waits as b2f_file_try_commit().
 */
B2F_MUST_CHECK
int fs_file_commit(struct fs *fs, struct fs_file *file, enum b2f_commit_how how,
		   bool waits);

/*
 * Call these around a step that must not meet the removal of @file.  Returns
 * false if the file is GONE, or HELD and the caller does not wait.
 */
bool fs_file_begin_commit(struct fs *fs, struct fs_file *file, bool waits);
void fs_file_end_commit(struct fs *fs, struct fs_file *file);

/*
 * Call these around the removal of @file: no commit runs meanwhile, and the
 * next one waits.  After @gone no change is committed any more.
 */
void fs_file_hold(struct fs *fs, struct fs_file *file);
void fs_file_release(struct fs *fs, struct fs_file *file, bool gone);

/*
 * Call these around a drop of changes: a writer that would come in between
 * waits, so that fs_handle_commit() does not tell it of the drop.
 */
void fs_file_begin_revert(struct fs *fs, struct fs_file *file);
void fs_file_end_revert(struct fs *fs, struct fs_file *file);

/* Calls @file->ops and returns true if foreign changes came in. */
bool fs_file_take_foreign(struct fs *fs, struct fs_file *file);

/* How often fs_file_wait_busy() sleeps: 3 s together. */
#define FS_BUSY_TRIES 60

/*
 * Sleeps a moment, because another program writes to a frame.  Returns false,
 * and does not sleep, after FS_BUSY_TRIES; or if so many requests sleep that no
 * thread would be left for other ones, whoever holds that many locks.
 */
bool fs_file_wait_busy(struct fs *fs, int *tries);

#endif
