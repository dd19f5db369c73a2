/* SPDX-License-Identifier: BSD-3-Clause */
/* share.c - no user takes all descriptors of the daemon */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <uthash.h>

#include "fs.h"

/* Descriptors are scarce when only this part of them is left, as a divisor. */
#define SCARCE_SHARE 8

/* A handle takes four descriptors at most: with fewer handles none are scarce. */
#define HANDLE_FDS 4

struct fs_share {
	uid_t uid;
	size_t nhandles;
	UT_hash_handle hh;
};

/* The kernel gives out the lowest free descriptor. */
static bool is_scarce(const struct fs *fs)
{
	int last = fs->tree->reserved_from, fd;

	if (fs->shares.nhandles < (size_t)last / HANDLE_FDS / 2)
		return false;
	fd = fcntl(fs->tree->root->fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		close(fd);
	return fd < 0 || fd >= last - last / SCARCE_SHARE;
}

/* Root has the daemon anyway, and one user alone takes nothing from others. */
static bool is_bounded(const struct fs *fs, uid_t uid)
{
	return fs->options.access.allow_other && uid != 0;
}

int fs_share_take(struct fs *fs, uid_t uid)
{
	struct fs_shares *all = &fs->shares;
	struct fs_share *share;
	int err = 0;

	pthread_mutex_lock(&fs->state_lock);
	HASH_FIND(hh, all->users, &uid, sizeof(uid), share);
	if (!share) {
		share = calloc(1, sizeof(*share));
		if (!share) {
			err = -ENOMEM;
			goto out;
		}
		share->uid = uid;
		HASH_ADD(hh, all->users, uid, sizeof(share->uid), share);
	}
	/* Counts as if one more user was about to come. */
	if (is_bounded(fs, uid) &&
	    share->nhandles > all->nhandles / (HASH_COUNT(all->users) + 1) &&
	    is_scarce(fs)) {
		err = -ENFILE;
		goto out;
	}
	share->nhandles++;
	all->nhandles++;
out:
	pthread_mutex_unlock(&fs->state_lock);
	return err;
}

void fs_share_give(struct fs *fs, uid_t uid)
{
	struct fs_shares *all = &fs->shares;
	struct fs_share *share;

	pthread_mutex_lock(&fs->state_lock);
	HASH_FIND(hh, all->users, &uid, sizeof(uid), share);
	all->nhandles--;
	if (--share->nhandles == 0) {
		HASH_DEL(all->users, share);
		free(share);
	}
	pthread_mutex_unlock(&fs->state_lock);
}
