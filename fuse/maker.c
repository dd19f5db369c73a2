/* SPDX-License-Identifier: BSD-3-Clause */
/* maker.c - makes files as the caller of the request */
#include <errno.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs.h"
#include "maker.h"
#include "resources.h"

/*
 * The process keeps the ids that it was started with, and to ask the kernel for
 * them costs a call of its own for each file.
 */
static uid_t own_user(void)
{
	return (uid_t)getauxval(AT_EUID);
}

static gid_t own_group(void)
{
	return (gid_t)getauxval(AT_EGID);
}

bool fs_maker_is_root(void)
{
	return own_user() == 0;
}

/* Do files that this thread makes belong to the caller anyway? */
static bool is_caller(const struct fuse_ctx *ctx)
{
	return ctx->uid == own_user() && ctx->gid == own_group();
}

/* Has this thread make files of @uid and @gid. */
static void become(uid_t uid, gid_t gid)
{
	struct fs_powers powers;

	if (fs_powers_get(&powers))
		return;
	/* Both calls change this thread alone. */
	setfsgid(gid);
	setfsuid(uid);
	/*
	 * setfsuid(2) has dropped root's rights to files.  The daemon needs
	 * them: the kernel has checked the caller's rights in the mount, and
	 * knows all of his groups.
	 */
	(void)fs_powers_set(&powers);
}

static void come_back(void)
{
	setfsuid(own_user());
	setfsgid(own_group());
}

void fs_maker_begin(fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	const struct fs_options *o = &fs_of(req)->options;

	if (fs_maker_is_root() && !is_caller(ctx))
		become(o->access.user == FS_UNSET ? ctx->uid : own_user(),
		       o->access.group == FS_UNSET ? ctx->gid : own_group());
}

void fs_maker_end(fuse_req_t req)
{
	if (fs_maker_is_root() && !is_caller(fuse_req_ctx(req)))
		come_back();
}

int fs_maker_make(fuse_req_t req, int dirfd, const char *name,
		  const struct fs_maker_what *what)
{
	int err;

	fs_maker_begin(req);
	if (what->target)
		err = symlinkat(what->target, dirfd, name);
	else if (S_ISDIR(what->mode))
		err = mkdirat(dirfd, name, what->mode & 07777);
	else
		err = mknodat(dirfd, name, what->mode, what->rdev);
	err = err ? -errno : 0;
	fs_maker_end(req);
	return err;
}

int fs_maker_link(int dirfd, const char *target, const char *name,
		  const struct stat *owner)
{
	int err;

	if (fs_maker_is_root())
		become(owner->st_uid, owner->st_gid);
	err = symlinkat(target, dirfd, name) ? -errno : 0;
	if (fs_maker_is_root())
		come_back();
	return err;
}
