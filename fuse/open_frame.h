/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open_frame.h - open frames: what all handles of a frame share
 *
 * Each node has one open frame at most, so a frame has one state, and its
 * changes go to one place, however many handles there are.
 *
 * The library tells what the index is after each of our commits, so a foreign
 * change is recognized.  If there are no uncommitted changes here, the open
 * frame goes on with what is on disk then.  That happens at the next open or
 * stat(2), and once a second in the ticker; then the kernel's cache must go:
 *
 *   an open         does not keep it
 *   all others      leave it to the ticker, which tells the kernel (a request
 *                   must not: the kernel may hold what it would wait for)
 *
 * So a reader may get bytes of the old version for a moment after new ones of
 * another part, as with any network filesystem, but never a block made of both.
 * With uncommitted changes here, the commit decides (b2f_file_commit()).
 *
 * A frame that is the root of the mount is whatever has its name.  If another
 * directory gets that name while the old one is open, the new one gets an open
 * frame of its own, past the kernel's cache.
 *
 * Two versions within one tick of the filesystem's clock may have the same
 * stamp.  So an open waits a moment after a foreign change, until the stamp can
 * belong to one version only.
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
	 * With 0 users it is kept until its changes can be committed, or rests: an
	 * index of very many chunks takes long to read, so it stays for some seconds.
	 * To all others such a frame is one that a reader has open.  Writers are
	 * truncations by name, too.
	 */
	struct fs_file open;
	/* These never change.  The pin holds the node. */
	struct fs_pin pin;
	/* Name for messages. */
	char *label;
	/*
	 * Device of the open directory or file, which the root's name may have
	 * left.  All other nodes are one file.
	 */
	dev_t dev;
	/* A new one may become a directory; see form.h. */
	_Atomic ino_t ino;
	/*
	 * The kernel must not cache it: its cache is of the frame that has the
	 * name.
	 */
	bool past_cache;
	/*
	 * Since when it rests, on the monotonic clock, and how many chunks the index
	 * has that is kept so; or 0.  Under state_lock.
	 */
	time_t rests_s;
	uint64_t rests;

	/*
	 * Changes so far, how many of them are committed, and how many were when
	 * it was tidied last.
	 */
	_Atomic uint64_t nchanges;
	_Atomic uint64_t ncommitted;
	_Atomic uint64_t ntidied;
	/*
	 * The last of them has left, and others cannot write yet.  Under state_lock.
	 */
	bool keeps_lock;
	/* How often changes of several writers were dropped (anew.h). */
	_Atomic uint64_t ndropped;

	/* Set once it is open for writing. */
	struct fs_durable *durable;
	/* The last attributes, for when the file is out of reach. */
	struct stat attr;
	/* The mtime shown while the commit that will store it is under way. */
	struct timespec mtime;
	bool has_mtime;
};

extern const struct fs_file_ops fs_open_frame_ops;

/*
 * Commits and closes what is still kept; all handles are closed.  Frames that
 * another program has locked come last, and are not waited for without end.
 * Returns 0, or the first error: then something that was written is lost, and
 * logged.
 */
B2F_MUST_CHECK
int fs_open_frame_fini(struct fs *fs);

/*
 * Opens the frame @node, or shares it.  Give *@out back with
 * fs_open_frame_put().  *@keep_cache: has the answer to tell the kernel nothing
 * about its cache of data?  NULL: there is no answer, the caller opens it for
 * itself.
 *
 * Returns 0, -ESTALE (it has gone: look it up again), B2F_ECORRUPT,
 * B2F_EUNSUPPORTED, B2F_ETOOBIG or an errno.
 */
B2F_MUST_CHECK
int fs_open_frame_get(struct fs *fs, struct fs_backed *node,
		      struct fs_open_frame **out, bool *keep_cache);

/*
 * The same if @node was just made, and is open as @made, which is taken over.
 * Returns 0, -ESTALE, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int fs_open_frame_add(struct fs *fs, struct fs_backed *node,
		      struct b2f_frame *made, struct fs_open_frame **out,
		      bool *keep_cache);

/* @frame rests no more.  Under fs->state_lock. */
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

/* The open frame of @node, with a reference; NULL: it is not open. */
struct fs_open_frame *fs_open_frame_peek(struct fs *fs, struct fs_backed *node);

/*
 * Gives back a reference; the last one commits and closes, without waiting for
 * other programs.  If that fails, the frame is kept, and the ticker tries
 * again.
 */
void fs_open_frame_put(struct fs *fs, struct fs_open_frame *frame);

/* b2f_file_allow_write(), waiting up to 3 s for another writer's end. */
B2F_MUST_CHECK
int fs_open_frame_allow_write(struct fs *fs, struct fs_open_frame *f);

/*
 * Commits @frame; DURABLE makes a new name durable as well.  Does nothing for a
 * deleted frame.  Returns as b2f_file_commit().
 */
B2F_MUST_CHECK
int fs_open_frame_commit(struct fs *fs, struct fs_open_frame *frame,
			 enum b2f_commit_how how);

/*
 * Notes the index that our commit left where @before was, unless another program was
 * faster.  No lock of @fs is held.
 */
void fs_open_frame_note_commit(struct fs *fs, struct fs_open_frame *frame,
			       const struct b2f_file_now *before);

/*
 * Call these around all that a handle, or a truncation by name, may write to
 * @frame.  The end of the last writer commits what the kernel has written back
 * since its flush (of mmap(2), mostly).  If the commit is refused (-ESTALE),
 * which the flush has reported, the frame is as on disk again; a begin waits
 * for that.
 */
void fs_open_frame_begin_writer(struct fs *fs, struct fs_open_frame *frame);
void fs_open_frame_end_writer(struct fs *fs, struct fs_open_frame *frame);

/*
 * Gives back room that the last commit does without: the writer may be about to
 * leave, and to believe that the file is closed.  @late: no request of it waits for
 * this any more, so nothing is done but under a lock that keeps other programs out.
 */
void fs_open_frame_tidy(struct fs *fs, struct fs_open_frame *frame, bool late);

/*
 * Goes on with what another program wrote, if there are no changes here; the
 * ticker then tells the kernel.  @index: what the index was a moment ago, or
 * NULL.  A program that has locked the frame is waited for @wait_ms at most; then
 * -EAGAIN.
 */
B2F_MUST_CHECK
int fs_open_frame_refresh(struct fs *fs, struct fs_open_frame *frame,
			  const struct stat *index, uint32_t wait_ms);

/* Has the ticker tell the kernel to drop what it cached of @frame. */
void fs_open_frame_drop_cached(struct fs *fs, struct fs_open_frame *frame);

/*
 * Deletes the sparse frame @what, which is @name in @dirfd: hides it now, and
 * removes its files when @node, its node, is freed.  NULL: it has no node.
 * Returns as fs_unlinked_hide().
 */
B2F_MUST_CHECK
int fs_open_frame_delete(struct fs *fs, int dirfd, const char *name,
			 const struct stat *what, struct fs_backed *node);

/*
 * Notes that the contiguous frame @node has no name any more: what is not
 * committed never will be.
 */
void fs_open_frame_unlinked(struct fs *fs, struct fs_backed *node);

#endif
