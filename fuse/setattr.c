/* SPDX-License-Identifier: BSD-3-Clause */
/* setattr.c - owner, mode and times of backing files */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "setattr.h"

/* A user with more is in no other, here. */
#define MAX_GROUPS 512

struct fs_setattr fs_setattr_none(void)
{
	return (struct fs_setattr){.uid = (uid_t)-1, .gid = (gid_t)-1};
}

static bool is_explicit(const struct timespec *t)
{
	return t->tv_nsec != UTIME_NOW && t->tv_nsec != UTIME_OMIT;
}

/* The bits of a mode that @meta gives to @st, or takes from it. */
static mode_t given(const struct fs_setattr *meta, const struct stat *st)
{
	return meta->has_mode ? meta->mode & ~st->st_mode & 07777 : 0;
}

static mode_t taken(const struct fs_setattr *meta, const struct stat *st)
{
	return meta->has_mode ? st->st_mode & ~meta->mode & 07777 : 0;
}

/* Does only the owner of @st have the right to do @meta? */
static bool is_owners_right(const struct fs_setattr *meta,
			    const struct stat *st)
{
	/* For a writer who is not the owner the kernel takes set-id bits away. */
	if (given(meta, st) || (taken(meta, st) & ~(S_ISUID | S_ISGID)))
		return true;
	return meta->uid != (uid_t)-1 || meta->gid != (gid_t)-1 ||
	       (meta->has_times && (is_explicit(&meta->times[0]) ||
				    is_explicit(&meta->times[1])));
}

static bool is_in_group(fuse_req_t req, gid_t gid)
{
	gid_t groups[MAX_GROUPS];
	int n = fuse_req_getgroups(req, MAX_GROUPS, groups);

	for (int i = 0; i < n && i < MAX_GROUPS; i++)
		if (groups[i] == gid)
			return true;
	return fuse_req_ctx(req)->gid == gid;
}

/* The same for @set, the set-id bits that @st is to get. */
static int check_set_id(const struct fs *fs, const struct fs_setattr *meta,
			const struct stat *st, mode_t set)
{
	const struct fs_options *o = &fs->options;

	if (!set || !meta->by_user)
		return 0;
	if (o->access.user != FS_UNSET || o->access.group != FS_UNSET)
		return -EPERM;
	return (set & S_ISGID) && !is_in_group(meta->req, st->st_gid) ? -ESTALE
								      : 0;
}

int fs_setattr_check(struct fs *fs, const struct fs_setattr *meta,
		     const struct stat *st, const struct stat *dir)
{
	const int64_t shown = fs->options.access.user;
	mode_t set = given(meta, st) & (S_ISUID | S_ISGID);
	bool is_mixed = dir && dir->st_uid != st->st_uid;
	uid_t owner = shown == FS_UNSET ? st->st_uid : (uid_t)shown;

	/* Without root's rights we can do no more than the caller. */
	if (!meta->req || geteuid() != 0)
		return 0;
	if (is_mixed && (set || (meta->by_user && is_owners_right(meta, st))))
		return -ESTALE;
	if (meta->by_user && is_owners_right(meta, st) &&
	    fuse_req_ctx(meta->req)->uid != owner)
		return -ESTALE;
	return check_set_id(fs, meta, st, set);
}

int fs_setattr_file(struct fs *fs, int fd, const struct fs_setattr *meta)
{
	char name[16];
	struct stat st;
	int err = 0;

	if (meta->req)
		err = fstat(fd, &st) ? -errno
				     : fs_setattr_check(fs, meta, &st, NULL);
	if (err)
		return err;
	/* /proc leads to this very file, even if it is a symbolic link. */
	snprintf(name, sizeof(name), "%d", fd);
	if ((meta->uid != (uid_t)-1 || meta->gid != (gid_t)-1) &&
	    fchownat(fd, "", meta->uid, meta->gid, AT_EMPTY_PATH))
		return -errno;
	/* After chown(2), which clears set-uid bits. */
	if (meta->has_mode && fchmodat(fs->tree->proc_fd, name, meta->mode, 0))
		return -errno;
	if (meta->has_times &&
	    utimensat(fs->tree->proc_fd, name, meta->times, 0))
		return -errno;
	return 0;
}
