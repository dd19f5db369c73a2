/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maker.h - new files belong to the caller of the request from the beginning
 *
 * A daemon of root's makes them as the caller, so that the backing filesystem
 * decides about owner and group in the very call that makes them.  To give them
 * away afterwards it would have to look for them by a name to which the owner
 * of the directory may have moved something else.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_MAKER_H
#define B2F_FUSE_MAKER_H

#include <sys/types.h>

#include "b2frame/error.h"
#include "fuse_api.h"

/*
 * Files that this thread makes until fs_maker_end() belong to the caller of
 * @req, unless uid= or gid= say otherwise.  The thread's other rights stay.  A
 * daemon that is not root's makes files of its own.
 */
void fs_maker_begin(fuse_req_t req);

/* Ends fs_maker_begin(), also where that did nothing. */
void fs_maker_end(fuse_req_t req);

/*
 * A file to make: a symbolic link to @target, or, if that is NULL, the kind in
 * @mode.
 */
struct fs_maker_what {
	const char *target;
	mode_t mode;
	dev_t rdev;
};

/* Makes @what as @name in @dirfd, for the caller of @req: 0 or an errno. */
B2F_MUST_CHECK
int fs_maker_make(fuse_req_t req, int dirfd, const char *name,
		  const struct fs_maker_what *what);

#endif
