/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open_file.h - the data of a frame while it is open, whatever volume it is of
 *
 * All handles of a frame share one struct fs_file: of the tree in a struct
 * fs_open_frame (open_frame.h), of a bucket in its node (bucket_node.h), of a pack made
 * at the first open (packs.h), where it is only read.
 *
 *   state      @data  @nrefs  @nwriters  what it is, and what leads out of it
 *   CLOSED     NULL   0       0          the first open gets the data
 *   IDLE       open   0       0          what costs requests to open again stays for some
 *                                        seconds, or until it is opened
 *   SHARED     open   > 0     0          read; the last close closes it, or makes it IDLE
 *   WRITTEN    open   > 0     > 0        the last writer commits what is left, and so does
 *                                        the last close
 *   RESTING    open   0       0          of the tree: its index has very many chunks, and
 *                                        stays for some seconds
 *   KEPT       open   any     0          a commit has failed: the changes stay in memory,
 *                                        and the ticker tries again from @retry_s on
 *   REVERTING  open   any     0          a commit was refused (-ESTALE), which its caller
 *                                        tells; the changes are being dropped, and a
 *                                        writer that begins waits for that
 *   HELD       open   any     any        it is being removed, or replaced: a commit waits
 *   GONE       open   any     any        it was removed: nothing is committed any more,
 *                                        and the last close drops the changes
 *
 * Layer: fuse.
 *
 * Threads: any.  Fields that are no atomics are under fs->state_lock, as are the
 * functions that say so; the others take it.
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

/* Operations of a volume on files that can be written to. */
struct fs_file_ops {
	/* Notes that commits of other programs are shown from now on. */
	void (*note_foreign)(struct fs *fs, struct fs_file *file);
	/*
	 * A commit has returned @err; before it the file was @before.  @foreign: it has
	 * taken in changes of others.
	 */
	void (*note_commit)(struct fs *fs, struct fs_file *file,
			    const struct b2f_file_now *before, bool foreign,
			    int err);
	/* Goes on with what is stored, without the changes here. */
	void (*revert)(struct fs *fs, struct fs_file *file);
	/* Once a second: commits what is old, and looks for changes of others. */
	void (*tick)(struct fs *fs, struct fs_file *file);
	/* Tells the kernel what to drop.  NULL: the state of its node knows that. */
	void (*drop)(struct fs *fs, struct fs_file *file);
	/*
	 * For fs_file_all(), which has added a user: takes more that is needed, under
	 * the lock (NULL: nothing), and gives all back, without it.
	 */
	void (*ref)(struct fs_file *file);
	void (*put)(struct fs *fs, struct fs_file *file);
};

struct fs_file {
	/* NULL: only read. */
	const struct fs_file_ops *ops;
	struct b2f_file *data;
	/* Users: handles, and requests that need the data. */
	size_t nrefs;
	/* Handles that may write, and changes by name. */
	_Atomic size_t nwriters;
	bool reverting;
	atomic_bool held;
	atomic_bool gone;
	/* Commits that are under way. */
	_Atomic unsigned int ncommits;
	/* When to try again what has failed, on the monotonic clock. */
	time_t retry_s;
	/* To open it again would cost requests. */
	bool stays;
	/* In the list of those that are looked after; its volume puts it there. */
	TAILQ_ENTRY(fs_file) active;
	/* If it is IDLE: in the list, since when. */
	TAILQ_ENTRY(fs_file) idle;
	time_t idle_s;
};

/* The open files of a mount. */
struct fs_files {
	/* All of the tree, and those of a bucket that are written to. */
	TAILQ_HEAD(fs_file_active, fs_file) active;
	/* Chunks of frames that rest. */
	uint64_t rest;
	/* Files that are IDLE, longest first. */
	TAILQ_HEAD(fs_file_idle, fs_file) idle;
	size_t nidle;
	/* Signalled when one was opened, closed, reverted, or committed. */
	pthread_cond_t settled;
};

void fs_file_init(struct fs_files *files);

/* Is a file active: open, or kept because its changes could not be stored? */
bool fs_file_any(struct fs *fs);

/*
 * All active files, each with a user; give them back with @ops->put().  *@out is
 * malloc'ed.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_file_all(struct fs *fs, struct fs_file ***out, size_t *n);

/* Adds a user of @file, if it is open; returns NULL otherwise. */
struct b2f_file *fs_file_share(struct fs *fs, struct fs_file *file);

/*
 * Opens @file with @data, which is taken over, or shares what another thread has opened
 * meanwhile.
 */
struct b2f_file *fs_file_add(struct fs *fs, struct fs_file *file,
			     struct b2f_file *data);

/*
 * Removes a user.  The last one makes the file IDLE if it @stays, and closes it
 * otherwise.
 */
void fs_file_close(struct fs *fs, struct fs_file *file);

/* Makes @file, which is open and has no user, IDLE.  Under the lock. */
void fs_file_rest(struct fs *fs, struct fs_file *file);

/* Takes the data out of @file if nothing uses them; or NULL.  Under the lock. */
struct b2f_file *fs_file_take_unused(struct fs *fs, struct fs_file *file);

/* Closes what is IDLE for too long.  Returns whether there is more to come. */
bool fs_file_tick(struct fs *fs);

/* Adds a writer, once no changes are being dropped.  Under the lock. */
void fs_file_add_writer(struct fs *fs, struct fs_file *file);

/* The writer tries again in a while.  Under the lock. */
void fs_file_put_off(struct fs_file *file);
bool fs_file_is_due(const struct fs_file *file);

/*
 * Commits @file; what is refused is dropped once there is no writer.  @waits: for
 * other programs, and while it is HELD.  Returns 0, also if it is GONE, or as
 * b2f_file_commit(), and if it does not wait as b2f_file_try_commit().
 */
B2F_MUST_CHECK
int fs_file_commit(struct fs *fs, struct fs_file *file, enum b2f_commit_how how,
		   bool waits);

/*
 * Call these around what must not meet the removal of @file: false if it is GONE, or
 * HELD and the caller does not wait.
 */
bool fs_file_begin_commit(struct fs *fs, struct fs_file *file, bool waits);
void fs_file_end_commit(struct fs *fs, struct fs_file *file);

/*
 * Call these around the removal of @file: no commit is under way meanwhile, and the next
 * one waits.  If it is @gone nothing is committed any more.
 */
void fs_file_hold(struct fs *fs, struct fs_file *file);
void fs_file_release(struct fs *fs, struct fs_file *file, bool gone);

/*
 * Call these around what a writer must not meet.  False: there is one, or another
 * thread does it.
 */
bool fs_file_begin_revert(struct fs *fs, struct fs_file *file);
void fs_file_end_revert(struct fs *fs, struct fs_file *file);

/* Has @file->ops told that changes of others came in; false: there were none. */
bool fs_file_take_foreign(struct fs *fs, struct fs_file *file);

#endif
