/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open_frame.h - open frames of the tree, which all handles of a frame share
 *
 * Each node has one open frame at most, so a frame has one state, and its
 * changes go to one place, however many handles there are.
 *
 * The library returns the stamp of the index after each of our commits, so a
 * foreign change is recognized: at the next open or stat(2), and once a second
 * by the ticker.  If this mount has no uncommitted changes, the open frame
 * takes the new version.  The kernel has to drop its pages then:
 *
 *   an open         does not keep it
 *   all others      leave it to the ticker, which tells the kernel (a request
 *                   must not: the kernel may hold what it would wait for)
 *
 * So for a moment a reader may get old bytes of one part after new bytes of
 * another, as on any network filesystem, but never a block made of both.  If
 * this mount has uncommitted changes, the commit decides (b2f_file_commit()).
 *
 * If the root of the mount is a frame, its name decides which one.  If another
 * frame gets that name while the old one is open, it gets an open frame of its
 * own, past the kernel's cache.
 *
 * Two versions within one tick of the filesystem's clock may have the same
 * stamp.  So after a foreign change an open waits a moment, until only one
 * version can have the stamp.
 *
 * Layer: fuse.
 *
 * Threads: any.  All fields that change are under fs->state_lock.
 */
#ifndef B2F_FUSE_OPEN_FRAME_H
#define B2F_FUSE_OPEN_FRAME_H

#include <stdatomic.h>
#include <stdbool.h>

#include "open_file.h"
#include "tree.h"

struct fs;

struct fs_open_frame {
	/*
	 * With 0 users, a frame is kept until its changes can be committed, or
	 * it rests for some seconds, because its index of very many chunks
	 * takes long to read.  Other programs see a resting frame as one that a
	 * reader has open.  Truncations by name count as writers, too.
	 */
	struct fs_file open;
	/* These never change.  The pin holds the node. */
	struct fs_pin pin;
	/* Name for messages. */
	char *label;
	/*
	 * Device of the open directory or file, to which the root's name may
	 * not lead any more.  All other nodes are one file.
	 */
	dev_t dev;
	/* Its inode number; another one as a directory (form.h). */
	_Atomic ino_t ino;
	/*
	 * The kernel must not cache it, because the kernel's cache is of the
	 * frame that has the name now.
	 */
	bool past_cache;
	/*
	 * Since when it rests, on the monotonic clock, and how many chunks its
	 * index has; or 0.  Under state_lock.
	 */
	time_t rests_s;
	uint64_t rests;

	/*
	 * How many changes there were; how many of them are committed; and how
	 * many were when the frame was tidied last.
	 */
	_Atomic uint64_t nchanges;
	_Atomic uint64_t ncommitted;
	_Atomic uint64_t ntidied;
	/*
	 * The last writer has left, but other programs cannot write yet.  Under
	 * state_lock.
	 */
	bool keeps_lock;

	/* Set once it is open for writing. */
	struct fs_durable *durable;
	/* The last attributes, used when the file cannot be read. */
	struct stat attr;
	/*
	 * The mtime to show until a commit has stored it.  Under state_lock.
	 */
	struct timespec mtime;
	bool has_mtime;
};

extern const struct fs_file_ops fs_open_frame_ops;

/*
 * Commits and closes all frames that are kept; all handles are closed.  Frames
 * that cannot be committed now come last, with a limited wait.  Returns 0, or
 * the first error: changes are lost then, which is logged.
 */
B2F_MUST_CHECK
int fs_open_frame_fini(struct fs *fs);

/*
 * Opens the frame @node, or shares it.  Give *@out back with
 * fs_open_frame_put().  *@keep_cache: may the kernel keep its pages?  NULL: the
 * caller opens the frame for itself.
 *
 * Returns 0, -ESTALE (deleted: look it up again), B2F_ECORRUPT,
 * B2F_EUNSUPPORTED, B2F_ETOOBIG or an errno.
 */
B2F_MUST_CHECK
int fs_open_frame_get(struct fs *fs, struct fs_backed *node,
		      struct fs_open_frame **out, bool *keep_cache);

/*
 * The same for the new @node, which is open as @made, and takes @made over.
 * Returns 0, -ESTALE, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int fs_open_frame_add(struct fs *fs, struct fs_backed *node,
		      struct b2f_frame *made, struct fs_open_frame **out,
		      bool *keep_cache);

/* Ends the rest of @frame.  Under fs->state_lock. */
static inline void fs_open_frame_wake(struct fs_files *files,
				      struct fs_open_frame *frame)
{
	files->rest -= frame->rests;
	frame->rests = 0;
}

/* Call this after each change of the data of @frame, before answering it. */
static inline void fs_open_frame_note_change(struct fs_open_frame *frame)
{
	atomic_fetch_add(&frame->nchanges, 1);
}

/* Has every change been committed? */
static inline bool fs_open_frame_is_committed(const struct fs_open_frame *frame)
{
	return atomic_load(&frame->ncommitted) == atomic_load(&frame->nchanges);
}

/*
 * Returns the open frame of @node with a reference, with @wait once it is
 * neither being opened nor closed; NULL: it is not open.
 */
struct fs_open_frame *fs_open_frame_peek(struct fs *fs, struct fs_backed *node,
					 bool wait);

/*
 * Gets the open frame of @node with a reference, once it is neither being
 * opened nor closed.  If *@out is NULL, it is not open, and no other thread
 * opens it until fs_open_frame_end_begin().
 *
 * Returns 0 or -ESTALE (the node was replaced; the kernel looks the name up
 * again).
 */
B2F_MUST_CHECK
int fs_open_frame_peek_or_begin(struct fs *fs, struct fs_backed *node,
				struct fs_open_frame **out);

void fs_open_frame_end_begin(struct fs *fs, struct fs_backed *node);

/*
 * Gives back a reference; the last one commits and closes, without waiting for
 * other programs.  If the commit fails, the frame is kept, and the ticker tries
 * again.
 */
void fs_open_frame_put(struct fs *fs, struct fs_open_frame *frame);

/*
 * Like b2f_file_allow_write(), but waits up to 3 s for another writer to end.
 * @no_lock_file: as the option of that name.
 */
B2F_MUST_CHECK
int fs_open_frame_allow_write(struct fs *fs, struct fs_open_frame *f,
			      bool no_lock_file);

/*
 * Commits @frame; DURABLE also makes a new name durable.  Does nothing for a
 * deleted frame.  Returns as b2f_file_commit().
 */
B2F_MUST_CHECK
int fs_open_frame_commit(struct fs *fs, struct fs_open_frame *frame,
			 enum b2f_commit_how how);

/*
 * Notes the index that our commit made of @before, unless another program has
 * replaced it since.  No lock of @fs is held.
 */
void fs_open_frame_note_commit(struct fs *fs, struct fs_open_frame *frame,
			       const struct b2f_file_now *before);

/*
 * Call these around all writes to @frame, through a handle or by a truncation.
 * The end of the last writer commits pages that the kernel has written back
 * since the flush (of mmap(2), mostly).  If the commit is refused (-ESTALE), as
 * the flush has reported, the frame goes back to the version on disk; a new
 * writer waits for that.
 */
void fs_open_frame_begin_writer(struct fs *fs, struct fs_open_frame *frame);
void fs_open_frame_end_writer(struct fs *fs, struct fs_open_frame *frame);

/*
 * Between these calls: takes the only change since @frame->nchanges was
 * @nbefore back, which could not be committed.  The change stays if other
 * writers or changes came in between, or if the stored version cannot be
 * opened.
 */
void fs_open_frame_undo(struct fs *fs, struct fs_open_frame *frame,
			uint64_t nbefore);

/*
 * Goes back to the stored version, with the changes up to now dropped.  Returns
 * whether it could.
 */
bool fs_open_frame_revert(struct fs *fs, struct fs_open_frame *frame);

/*
 * Gives back room that the last commit left unused: the writer may be about to
 * leave, and to take the file for closed.  @late: no request waits for this any
 * more, so it is only done under a lock that keeps other programs out.
 */
void fs_open_frame_tidy(struct fs *fs, struct fs_open_frame *frame, bool late);

/*
 * Takes in foreign changes if there are none here; the ticker then has the
 * kernel drop pages.  @index: the index a moment ago, or NULL.  Waits at most
 * @wait_ms for a program that has locked the frame; then returns -EAGAIN.
 */
B2F_MUST_CHECK
int fs_open_frame_refresh(struct fs *fs, struct fs_open_frame *frame,
			  const struct stat *index, uint32_t wait_ms);

/* Has the ticker make the kernel drop its pages of @frame. */
void fs_open_frame_drop_cached(struct fs *fs, struct fs_open_frame *frame);

/*
 * Deletes the sparse frame @what, which is @name in @dirfd: hides it now, and
 * deletes its files when @node is freed (NULL: it has no node).  Returns as
 * fs_unlinked_hide().
 */
B2F_MUST_CHECK
int fs_open_frame_delete(struct fs *fs, int dirfd, const char *name,
			 const struct stat *what, struct fs_backed *node);

/*
 * Notes that @node, which is no sparse frame, has lost its last name: the
 * uncommitted changes of a frame are never committed.
 */
void fs_open_frame_unlinked(struct fs *fs, struct fs_backed *node);

#endif
