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

#include <stdbool.h>
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
