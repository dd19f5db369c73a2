/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unlinked.h - hides and deletes sparse frames
 *
 * A deleted frame is first renamed to a hidden place, in one step.  Its files
 * are deleted when it is closed and the kernel has forgotten it.  The hidden
 * place is one of:
 *
 *   BASE/.bloscfs-deleted/PID-NUMBER/N-INO
 *         PID-NUMBER is this mount's own directory, locked (flock) as long as
 *         the mount is there.  The next writable mount deletes those without a
 *         lock.
 *   .bloscfs-deleted-PID-NUMBER-N-INO
 *         in the frame's own directory, if that is on another filesystem, or
 *         BASE cannot be written to.  The frame itself is locked; after a crash
 *         it is deleted when its directory is listed or deleted.  If the
 *         directory is deleted while the frame is open, the frame moves up.
 *
 * INO is the inode number of the deleted frame (hex): another file there is one
 * that a program renamed to the frame's name just then, and is not deleted.
 *
 * A directory of a lower layer of overlayfs cannot be renamed at all, and on a
 * full disk there may be no room for a new name: such a frame is deleted at
 * once, its index first, and open handles get ESTALE.
 *
 * No mount shows these places.  Files in a frame's directory that do not belong
 * to a frame are never deleted: a directory that contains some is moved back,
 * if its name is still free.
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
	/* The directory that contains .bloscfs-deleted. */
	int base_fd;
	/* The mount's own, locked directory; -1: none (yet). */
	int fd;
	/* Other users could reach that directory. */
	bool has_failed;
	unsigned long last;
	/* Frames hidden in their own directories. */
	struct fs_unlinked_list there;
	/* Signalled when one of these frames was deleted. */
	pthread_cond_t gone;
};

/* A hidden frame. */
struct fs_unlinked {
	/* The directory that contains it. */
	int dirfd;
	/* The frame itself, locked, if in its own directory; or -1. */
	int lock_fd;
	char name[FS_NAME_SIZE];
	/*
	 * In @there; the directory; and whether a thread is deleting it.  Under
	 * the mount's lock.
	 */
	LIST_ENTRY(fs_unlinked) others;
	dev_t dev;
	ino_t ino;
	bool is_going;
	/* No file is left to delete. */
	bool has_gone;
	/* Its old directory. */
	int home_fd;
	char home[FS_NAME_SIZE];
};

/* @base_fd, the directory for .bloscfs-deleted, stays the caller's. */
void fs_unlinked_init(struct fs_unlinked_dir *dir, int base_fd);

/* Deletes the mount's own hidden directory, if it is empty. */
void fs_unlinked_fini(struct fs_unlinked_dir *dir);

/* Deletes the frames that crashed mounts left hidden below BASE. */
void fs_unlinked_purge(struct fs *fs);

/*
 * Deletes the frames that crashed mounts left hidden in the directory @dirfd,
 * which is about to be deleted.
 */
void fs_unlinked_purge_at(struct fs *fs, int dirfd);

/*
 * Empties the directory @dirfd, which is about to be deleted, of frames that
 * this mount hides there: waits for those that are being deleted, and moves
 * open ones to @parent_fd.
 */
void fs_unlinked_leave(struct fs *fs, int dirfd, int parent_fd);

/*
 * Like fs_unlinked_purge_at(), for the hidden @name that a listing of @dirfd
 * has found.  It may be a new frame, which is not always locked
 * (b2f_frame_create()).
 */
void fs_unlinked_purge_found(struct fs *fs, int dirfd, const char *name);

/* Is @name a hidden name, which no mount shows? */
bool fs_unlinked_is_hidden(const char *name);

/*
 * Hides the sparse frame @what, which is @name in @dirfd.  End *@out with
 * fs_unlinked_finish().  Returns 0; or -ENOMEM, -ESTALE (@name is another file
 * now) or an errno, and does not move it.
 */
B2F_MUST_CHECK
int fs_unlinked_hide(struct fs *fs, int dirfd, const char *name,
		     const struct stat *what, struct fs_unlinked **out);

/* Deletes the files of @deleted, and frees it.  NULL does nothing. */
void fs_unlinked_finish(struct fs *fs, struct fs_unlinked *deleted);

/* Deletes the file @what, which is @name in @dirfd, as far as that goes. */
void fs_unlinked_delete(struct fs *fs, int dirfd, const char *name,
			const struct stat *what);

#endif
