/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unlinked.h - sparse frames on their way out
 *
 * A deleted frame first leaves its directory, in one step.  Its files are
 * deleted when it is not open any more and the kernel has forgotten it.
 * Meanwhile it is out of sight:
 *
 *   BASE/.bloscfs-deleted/PID-NUMBER/N
 *         PID-NUMBER is this mount's own directory, locked (flock) as long as
 *         the mount is there.  The next writable mount deletes those without a
 *         lock.
 *   .bloscfs-deleted-PID-NUMBER-N
 *         in the frame's own directory, if that is on another filesystem, or
 *         BASE cannot be written to.  The frame itself is locked; after a crash
 *         it is deleted when the directory is listed, or deleted itself.  If the
 *         directory is deleted while the frame is open, the frame moves up.
 *
 * A directory of a lower layer of overlayfs cannot be renamed at all: such a frame
 * is deleted where it is at once, its index first, and who has it open gets ESTALE.
 *
 * No mount shows either.  Files in a frame's directory that do not belong to a
 * frame are never deleted: what is left of the directory goes back to where it
 * was, if the name is still free.
 *
 * Layer: fuse.  Threads: any, but for _init, _purge and _fini.
 */
#ifndef B2F_FUSE_UNLINKED_H
#define B2F_FUSE_UNLINKED_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "b2frame/error.h"
#include "suffix.h"

struct fs;

LIST_HEAD(fs_unlinked_list, fs_unlinked);

/* The mount's hidden directory. */
struct fs_unlinked_dir {
	pthread_mutex_t lock;
	/* "PID-NUMBER" */
	char id[40];
	/* Where .bloscfs-deleted is. */
	int base_fd;
	/*
	 * The mount's own, locked directory; -1: not needed yet, or not
	 * possible.
	 */
	int fd;
	bool has_failed;
	unsigned long last;
	/* Frames that were hidden in directories of their own. */
	struct fs_unlinked_list there;
	/* One of these frames is gone. */
	pthread_cond_t gone;
};

/* A frame that is out of sight. */
struct fs_unlinked {
	/* The directory it is in. */
	int dirfd;
	/*
	 * The frame itself, locked, if it lies in its old directory; otherwise
	 * -1.
	 */
	int lock_fd;
	char name[FS_NAME_SIZE];
	/* Under the mount's lock: in @there, of which directory, and going. */
	LIST_ENTRY(fs_unlinked) others;
	dev_t dev;
	ino_t ino;
	bool is_going;
	/* There is nothing left to delete. */
	bool has_gone;
	/* Where it was. */
	int home_fd;
	char home[FS_NAME_SIZE];
};

/* @base_fd, the directory of .bloscfs-deleted, stays the caller's. */
void fs_unlinked_init(struct fs_unlinked_dir *dir, int base_fd);

/* Deletes the mount's own directory, if it is empty. */
void fs_unlinked_fini(struct fs_unlinked_dir *dir);

/* Deletes what mounts that have crashed left below BASE. */
void fs_unlinked_purge(struct fs *fs);

/*
 * Deletes what crashed mounts left in the directory @dirfd itself, which is
 * about to be deleted.
 */
void fs_unlinked_purge_at(struct fs *fs, int dirfd);

/*
 * Has what this mount hides in the directory @dirfd leave it, because that is
 * about to be deleted: waits for what is being deleted, and moves what is still
 * open to @parent_fd.
 */
void fs_unlinked_leave(struct fs *fs, int dirfd, int parent_fd);

/*
 * Like fs_unlinked_purge_at(), for the hidden @name in @dirfd, which a listing
 * has come upon.  It may also be a new frame, which is not locked all the time
 * (b2f_frame_create()).
 */
void fs_unlinked_purge_found(struct fs *fs, int dirfd, const char *name);

/* Is @name one of ours, which the mount does not show? */
bool fs_unlinked_is_hidden(const char *name);

/*
 * Moves the sparse frame @what, which is @name in @dirfd, out of sight.  End *@out
 * with fs_unlinked_finish().  Returns 0, or -ENOMEM, -ESTALE (@name is another file
 * by now) or an errno, and leaves it there.
 */
B2F_MUST_CHECK
int fs_unlinked_hide(struct fs *fs, int dirfd, const char *name,
		     const struct stat *what, struct fs_unlinked **out);

/* Deletes its files, and frees @deleted.  NULL does nothing. */
void fs_unlinked_finish(struct fs *fs, struct fs_unlinked *deleted);

#endif
