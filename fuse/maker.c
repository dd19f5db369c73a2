/* SPDX-License-Identifier: BSD-3-Clause */
/* maker.c - makes files as the caller of the request */
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "dir.h"
#include "fs.h"
#include "maker.h"
#include "programs/file_form.h"
#include "resources.h"

/*
 * How old a spare file may be.  Flags and numbers that a directory hands down
 * (chattr(1), project quotas) may have changed meanwhile; no program that sets
 * them and then makes a file is so fast, unless it does both itself.
 */
#define SPARE_NS 4000000

/* When an unused one is given up. */
#define DROP_NS 1000000000

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

static bool begin(struct fs_spare *spare)
{
	bool is_busy = false;

	return atomic_compare_exchange_strong(&spare->is_busy, &is_busy, true);
}

static void end(struct fs_spare *spare)
{
	atomic_store(&spare->is_busy, false);
}

static void close_one(int *fd)
{
	fs_dir_close(*fd);
	*fd = -1;
}

static uint64_t age_ns(const struct fs_spare *spare)
{
	return b2f_monotonic_ns() - spare->made_ns;
}

/* Would a file made now be the same as the spare one? */
static bool is_good(const struct fs_spare *spare)
{
	struct stat dir;

	return spare->file_fd >= 0 && age_ns(spare) <= SPARE_NS &&
	       fstat(spare->dir_fd, &dir) == 0 &&
	       spare->gid == (dir.st_mode & S_ISGID ? dir.st_gid : own_group());
}

/*
 * Has the new file @fd no more than its own mode?  Its directory may have an
 * ACL for a moment, which is gone when the file gets its name.
 */
static bool is_plain(struct fs_spare *spare, int fd)
{
	struct stat st;

	if (fstat(fd, &st) || (st.st_mode & 07777) != (spare->mode & 07777) ||
	    flistxattr(fd, NULL, 0) > 0)
		return false;
	spare->gid = st.st_gid;
	return true;
}

/* Takes the spare file, if it is good; orders the next one. */
static int take(struct fs_spare *spare, int dirfd)
{
	int fd = -1;

	if (is_good(spare)) {
		fd = spare->file_fd;
		spare->file_fd = -1;
	}
	if (spare->dir_fd < 0)
		spare->dir_fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	atomic_store(&spare->is_wanted, spare->dir_fd >= 0);
	return fd;
}

int fs_maker_take_spare(fuse_req_t req, const struct fs_maker_where *where)
{
	struct fs *fs = fs_of(req);
	struct fs_spare *spare = &fs->requests.spare;
	int fd = -1;

	if (!fs_requests_are_close(&fs->requests) ||
	    (fs_maker_is_root() && !is_caller(fuse_req_ctx(req))) ||
	    !begin(spare))
		return -1;
	if (spare->dev == where->dev && spare->ino == where->ino &&
	    spare->mode == where->mode) {
		fd = take(spare, where->dirfd);
	} else {
		close_one(&spare->dir_fd);
		spare->dev = where->dev;
		spare->ino = where->ino;
		spare->mode = where->mode;
		/* To delete a file takes long, so leave that for later. */
		spare->made_ns = 0;
	}
	end(spare);
	return fd;
}

void fs_maker_make_spare(struct fs_spare *spare)
{
	if (!begin(spare))
		return;
	close_one(&spare->file_fd);
	if (spare->dir_fd >= 0) {
		/* A request that makes a file reports what is wrong. */
		spare->file_fd = b2f_frame_spare(spare->dir_fd, spare->mode);
		spare->made_ns = b2f_monotonic_ns();
		if (spare->file_fd < 0 || !is_plain(spare, spare->file_fd))
			close_one(&spare->file_fd);
	}
	atomic_store(&spare->is_wanted, false);
	end(spare);
}

bool fs_maker_drop_spare(struct fs_spare *spare, bool is_end)
{
	bool is_left = true;

	if (!begin(spare))
		return true;
	if (is_end || age_ns(spare) > DROP_NS) {
		close_one(&spare->file_fd);
		close_one(&spare->dir_fd);
		/* The next file shows whether more will follow. */
		spare->ino = 0;
		atomic_store(&spare->is_wanted, false);
		is_left = false;
	}
	end(spare);
	return is_left;
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
