/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maker.h - makes files as the caller of the request
 *
 * A daemon of root makes files as the caller, so the backing filesystem sets
 * owner and group in the call that makes the file.  A chown(2) afterwards would
 * go by a name, under which the owner of the directory may have put another
 * file.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_MAKER_H
#define B2F_FUSE_MAKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "b2frame/error.h"
#include "fuse_api.h"

/* Was the daemon started as root?  Costs no system call. */
bool fs_maker_is_root(void);

/*
 * Files that this thread makes until fs_maker_end() belong to the caller of
 * @req, unless uid= or gid= say otherwise.  The thread keeps its other rights.
 * A daemon without root's rights makes files of its own user.
 */
void fs_maker_begin(fuse_req_t req);

/* Ends fs_maker_begin(), also where that did nothing. */
void fs_maker_end(fuse_req_t req);

/*
 * A file without a name, made while no request waits, for the next request that
 * makes a file in the same directory: it saves the time that the filesystem
 * needs to find and set up an inode.  Zero-initialize it, but for the
 * descriptors.
 */
struct fs_spare {
	/* A thread uses all below; others do without. */
	_Atomic bool is_busy;
	/* The next one is to be made. */
	_Atomic bool is_wanted;
	/* The directory of the last new file, and that file's mode. */
	dev_t dev;
	ino_t ino;
	mode_t mode;
	/* The spare file's group, and when it was made. */
	gid_t gid;
	uint64_t made_ns;
	/* Descriptors of the directory and the spare file; -1: none. */
	int dir_fd;
	int file_fd;
};

/* Where a file is to be made. */
struct fs_maker_where {
	/* The directory, and its device and inode. */
	int dirfd;
	dev_t dev;
	ino_t ino;
	mode_t mode;
};

/*
 * Returns a spare file made for @where, or -1; the caller closes it.  Has the
 * next one made if the last two files were alike.  Call it only if files in the
 * directory inherit no attributes and no ACL.
 */
int fs_maker_take_spare(fuse_req_t req, const struct fs_maker_where *where);

/* Makes the spare file that @spare->is_wanted.  Call it between requests. */
void fs_maker_make_spare(struct fs_spare *spare);

/*
 * Closes a spare file that nobody has used for a second; with @is_end, any.
 * Returns whether there is still one.
 */
bool fs_maker_drop_spare(struct fs_spare *spare, bool is_end);

/* A file to make: a link to @target, or with NULL the kind in @mode. */
struct fs_maker_what {
	const char *target;
	mode_t mode;
	dev_t rdev;
};

/* Makes @what as @name for the caller of @req.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_maker_make(fuse_req_t req, int dirfd, const char *name,
		  const struct fs_maker_what *what);

/*
 * Makes @name a link to @target, which belongs to the owner of @owner if the
 * daemon has root's rights.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_maker_link(int dirfd, const char *target, const char *name,
		  const struct stat *owner);

#endif
