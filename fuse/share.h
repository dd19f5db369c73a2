/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.h - no user takes all descriptors of the daemon
 *
 * As long as there are enough, a user may open as many files as he likes.  When
 * only an eighth is left, a user gets no more than an even share of all, so
 * that others can still open files.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_SHARE_H
#define B2F_FUSE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "b2frame/error.h"

struct fs;
struct fs_share;

struct fs_shares {
	/* A uthash by user.  Under fs->state_lock, like the sum. */
	struct fs_share *users;
	size_t nhandles;
};

/*
 * Counts a handle for @uid.  Returns 0, -ENFILE (too many of those that there are would
 * be of @uid) or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_share_take(struct fs *fs, uid_t uid);

/* Gives back what fs_share_take() has counted. */
void fs_share_give(struct fs *fs, uid_t uid);

#endif
