/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * setattr.h - owner, mode and times of backing files
 *
 * A frame has the owner, mode and times of its index; its chunk files get the
 * same owner and mode.  Its directory gets the same owner, and a mode that lets
 * in every user who may read or write the file, and always the owner, who may
 * be the daemon's own user.
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_SETATTR_H
#define B2F_FUSE_SETATTR_H

#include "fs.h"
#include "fuse_api.h"

/* Attributes to change. */
struct fs_setattr {
	/* The caller of the request is not root. */
	bool by_user;
	/* The rights of its caller are checked; NULL: the daemon's. */
	fuse_req_t req;
	bool has_mode;
	mode_t mode;
	/* -1: unchanged. */
	uid_t uid;
	gid_t gid;
	bool has_times;
	/* See utimensat(2). */
	struct timespec times[2];
	/*
	 * The mtime is the present time of a write, truncate(2) or utimes(2),
	 * so whoever may write may set it.  With writeback_cache the kernel
	 * sends that time, instead of UTIME_NOW or nothing.
	 */
	bool is_of_write;
};

/* Changes nothing. */
struct fs_setattr fs_setattr_none(void);

static inline bool fs_setattr_sets_owner(const struct fs_setattr *meta)
{
	return meta->uid != (uid_t)-1 || meta->gid != (gid_t)-1;
}

/*
 * The mode for a new file in @dirfd: @mode, without S_ISUID and S_ISGID where
 * the caller of @req could not set them by chmod(2).
 */
mode_t fs_setattr_new_mode(fuse_req_t req, int dirfd, mode_t mode);

/*
 * Changes the file at the O_PATH descriptor @fd.  Returns 0, or an errno,
 * -EPERM and -ESTALE of its own included.
 */
B2F_MUST_CHECK
int fs_setattr_file(struct fs *fs, int fd, const struct fs_setattr *meta);

/*
 * Changes the frame @node, open or not, whose descriptor is @fd.  Returns as
 * fs_setattr_file().
 */
B2F_MUST_CHECK
int fs_setattr_frame(struct fs *fs, struct fs_backed *node, int fd,
		     const struct fs_setattr *meta);

/*
 * Clears the set-id bits, shown or not, that a file loses when another user
 * than root changes it; session.c has told the kernel to leave that to the
 * daemon.  Sets *@cleared (or NULL) if there was a bit.  Returns 0 or an
 * errno.
 */
B2F_MUST_CHECK
int fs_setattr_clear_set_ids(struct fs *fs, const struct fs_pin *pin,
			     bool *cleared);

/*
 * Notes that the mount has added or removed a name of the contiguous frame
 * @node, which changes its ctime like a change of data.  @fd is its descriptor,
 * @before its attributes before.
 */
void fs_setattr_note_ctime(struct fs *fs, struct fs_backed *node, int fd,
			   const struct stat *before);

/*
 * Calls @fn with @arg and an O_PATH descriptor of the index of the frame @node
 * (descriptor @fd), while no commit replaces the index.  Returns as @fn, or
 * -ESTALE or an errno.
 */
B2F_MUST_CHECK
int fs_setattr_with_index(struct fs *fs, struct fs_backed *node, int fd,
			  int (*fn)(void *arg, int index_fd), void *arg);

#endif
