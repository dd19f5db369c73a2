/* SPDX-License-Identifier: BSD-3-Clause */
/* files_attr.c - new files get owner, mode, xattrs and times of the index */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "programs/directory.h"
#include "store/files.h"
#include "store/files_attr.h"
#include "store/make.h"

#define ACL "system.posix_acl_access"

/* The limits of Linux: XATTR_LIST_MAX and XATTR_SIZE_MAX. */
#define XATTR_BYTES 65536

/* An ACL of 500 entries; a longer one is left out, and the mode narrowed. */
#define ACL_BYTES 4004

#define USER "user."

/*
 * The file, mostly an index, whose attributes another one gets.  Its owner may
 * be unable to read it.
 */
struct like {
	/* May be O_PATH; -1 if there is none. */
	int fd;
	/* A path in /proc, which leads to this very file. */
	char path[48];
	struct stat st;
	/* Take only the xattrs user.* without this one; NULL: take all. */
	const char *except;
};

static struct like like_of(int fd, const struct stat *st)
{
	struct like like = {.fd = fd, .st = *st};

	snprintf(like.path, sizeof(like.path), "/proc/self/fd/%d", fd);
	return like;
}

/*
 * Errors to report.  All others mean that the process may not, or the
 * filesystem cannot, keep an attribute; the data are worth more.
 */
static bool is_about_disk(int err)
{
	return err == EIO || err == ENOSPC || err == EDQUOT || err == EROFS ||
	       err == ENOMEM || err == ESTALE || err == ETIMEDOUT ||
	       err == EINTR;
}

/* The result of a call that may fail for lack of permission. */
static int judge(int result, const char *what, struct b2f_why *why)
{
	if (result >= 0 || !is_about_disk(errno))
		return 0;
	return b2f_why_set(why, -errno, "%s: %s", what, strerror(errno));
}

/*
 * Keeps root from giving files away: a user who may write to the directory can
 * put another user's file in the place of the index.
 */
static int check_owner(int dir, const struct stat *index, struct b2f_why *why)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	if (fstat(dir, &st))
		return b2f_why_set(why, -errno, "stat: %s", strerror(errno));
	if (st.st_uid == index->st_uid ||
	    (st.st_uid == 0 && !(st.st_mode & 0022)))
		return 0;
	return b2f_why_set(why, -ESTALE,
			   "%s and its directory have different owners",
			   B2F_INDEX_NAME);
}

static int open_like(int dir, struct like *out, struct b2f_why *why)
{
	int fd = openat(dir, B2F_INDEX_NAME, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st = {0};
	int err = 0;

	if (fd < 0 && errno != ENOENT)
		return b2f_why_set(why, -errno, "%s: %s", B2F_INDEX_NAME,
				   strerror(errno));
	if (fd >= 0 && fstat(fd, &st))
		err = b2f_why_set(why, -errno, "stat: %s", strerror(errno));
	else if (fd >= 0 && !S_ISREG(st.st_mode))
		err = b2f_why_set(why, B2F_ECORRUPT, "%s is no plain file",
				  B2F_INDEX_NAME);
	if (!err && fd >= 0)
		err = check_owner(dir, &st, why);
	if (err) {
		close(fd);
		return err;
	}
	*out = like_of(fd, &st);
	return 0;
}

/*
 * Sets the owner of @fd, or at least the group; @now: its attributes after
 * that.
 */
static int take_owner(int fd, const struct stat *like, struct stat *now,
		      struct b2f_why *why)
{
	int ret;

	if (fstat(fd, now))
		return b2f_why_set(why, -errno, "stat: %s", strerror(errno));
	if (now->st_uid == like->st_uid && now->st_gid == like->st_gid)
		return 0;
	ret = fchown(fd, like->st_uid, like->st_gid);
	if (ret && !is_about_disk(errno))
		ret = fchown(fd, (uid_t)-1, like->st_gid);
	if (ret)
		return judge(ret, "chown", why);
	if (fstat(fd, now))
		return b2f_why_set(why, -errno, "stat: %s", strerror(errno));
	return 0;
}

/*
 * The group gets no more permissions than others.  A directory keeps S_ISGID,
 * which says which group new files get.
 */
static mode_t without_group(mode_t mode, const struct stat *now)
{
	mode_t set_id = S_ISDIR(now->st_mode) ? 0 : S_ISGID;

	return mode & ~set_id & ~(~mode << 3 & S_IRWXG);
}

/*
 * Gives @fd the ACL of @like, or none: the directory may have a default ACL.
 * *@lost: @fd cannot have the ACL of @like.
 */
static int take_acl(int fd, const char *like, bool *lost, struct b2f_why *why)
{
	char acl[ACL_BYTES];
	ssize_t size = getxattr(like, ACL, acl, sizeof(acl));

	*lost = size < 0 && errno == ERANGE;
	if (size < 0 && (errno == ENODATA || errno == ENOTSUP))
		return judge(fremovexattr(fd, ACL), "remove the ACL", why);
	if (size < 0)
		return judge(-1, "read the ACL", why);
	if (fsetxattr(fd, ACL, acl, (size_t)size, 0) == 0)
		return 0;
	*lost = true;
	return judge(-1, "write the ACL", why);
}

/* Sets owner, ACL and @mode.  A new owner can clear set-id bits. */
static int take_permissions(int fd, const struct like *like, mode_t mode,
			    struct b2f_why *why)
{
	const struct stat *st = &like->st;
	bool lost = false;
	struct stat now;
	int err = take_owner(fd, st, &now, why);

	if (err)
		return err;
	if (now.st_uid != st->st_uid)
		mode &= ~(mode_t)S_ISUID;
	if (now.st_gid != st->st_gid)
		lost = true;
	else if (like->fd >= 0)
		err = take_acl(fd, like->path, &lost, why);
	if (err)
		return err;
	/* The group differs; or the group bits were the mask of a lost ACL. */
	if (lost)
		mode = without_group(mode, &now);
	return judge(fchmod(fd, mode), "chmod", why);
}

int b2f_files_inherit_entry(int like_fd, int dirfd)
{
	uint8_t acl[ACL_BYTES];
	ssize_t size = fgetxattr(like_fd, ACL, acl, sizeof(acl));

	if (size < 0 && (errno == ENODATA || errno == ENOTSUP))
		size = 0;
	if (size < 0)
		return -errno;
	if (size == 0)
		return fremovexattr(dirfd, ACL) && errno != ENODATA &&
				       errno != ENOTSUP
			       ? -errno
			       : 0;
	/* The permissions of each entry are behind its tag. */
	for (ssize_t i = 4; i + 8 <= size; i += 8)
		if (acl[i + 2] & 6)
			acl[i + 2] |= 1;
	return fsetxattr(dirfd, ACL, acl, (size_t)size, 0) ? -errno : 0;
}

static bool is_user(const char *name)
{
	return strncmp(name, USER, sizeof(USER) - 1) == 0;
}

static bool is_wanted(const struct like *like, const char *name)
{
	if (!like->except)
		return strcmp(name, ACL) != 0;
	return is_user(name) && strcmp(name, like->except) != 0;
}

static int copy_xattr(int fd, const struct like *like, const char *name,
		      char *value, struct b2f_why *why)
{
	ssize_t size = getxattr(like->path, name, value, XATTR_BYTES);

	/* Do not drop user.* attributes because the owner may not read them. */
	if (size < 0 && errno == EACCES && is_user(name) && !like->except)
		return b2f_why_set(why, -errno, "read %s: %s", name,
				   strerror(errno));
	if (size < 0)
		return judge(-1, "read an xattr", why);
	return judge(fsetxattr(fd, name, value, (size_t)size, 0),
		     "write an xattr", why);
}

/* Even the owner needs write permission to set xattrs. */
static int become_writable(int fd, struct b2f_why *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return b2f_why_set(why, -errno, "stat: %s", strerror(errno));
	if (st.st_mode & S_IWUSR)
		return 0;
	return judge(fchmod(fd, (st.st_mode & S_IRWXU) | S_IWUSR), "chmod",
		     why);
}

static int copy_xattrs(int fd, const struct like *like, struct b2f_why *why)
{
	B2F_OWN char *names = NULL;
	char *value;
	ssize_t size;
	int err;

	size = listxattr(like->path, NULL, 0);
	if (size <= 0)
		return judge((int)size, "list xattrs", why);
	names = malloc(2 * (size_t)XATTR_BYTES);
	if (!names)
		return -ENOMEM;
	value = names + XATTR_BYTES;
	size = listxattr(like->path, names, XATTR_BYTES);
	err = judge((int)size, "list xattrs", why);
	if (!err)
		err = become_writable(fd, why);
	for (char *name = names; !err && name < names + size;
	     name += strlen(name) + 1) {
		if (is_wanted(like, name))
			err = copy_xattr(fd, like, name, value, why);
	}
	return err;
}

/* The mode of a chunk file beside an index of @mode. */
static mode_t mode_of_chunk(mode_t mode)
{
	/* The owner is kept out by the index, and may be the daemon. */
	return (mode & 0666) | S_IRUSR;
}

static bool is_permitted(const struct stat *chunk, const struct stat *index)
{
	return chunk->st_uid == index->st_uid &&
	       chunk->st_gid == index->st_gid &&
	       (chunk->st_mode & 07777) == mode_of_chunk(index->st_mode);
}

int b2f_files_permit(int dir, int fd, struct b2f_why *why)
{
	struct like like;
	int err = open_like(dir, &like, why);

	if (err || like.fd < 0)
		return err;
	err = take_permissions(fd, &like, mode_of_chunk(like.st.st_mode), why);
	close(like.fd);
	return err;
}

int b2f_files_permit_again(int dir, int fd, struct b2f_why *why)
{
	struct stat index, now;

	if (!fstatat(dir, B2F_INDEX_NAME, &index, AT_SYMLINK_NOFOLLOW) &&
	    !fstat(fd, &now) && is_permitted(&now, &index))
		return 0;
	return b2f_files_permit(dir, fd, why);
}

/* For permit_named(). */
struct permit {
	int dir;
	uid_t owner;
	struct stat like;
};

static bool may_permit(const struct permit *p, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return false;
	return st->st_uid == (p->owner == (uid_t)-1 ? p->like.st_uid
						    : p->owner) ||
	       (p->owner == (uid_t)-1 && st->st_nlink == 1);
}

/* The path in /proc leads to the opened file, whatever its name is now. */
static int permit_opened(const struct permit *p, int fd, const struct stat *st)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if ((st->st_uid != p->like.st_uid || st->st_gid != p->like.st_gid) &&
	    fchownat(fd, "", p->like.st_uid, p->like.st_gid, AT_EMPTY_PATH) &&
	    is_about_disk(errno))
		return -errno;
	if (chmod(path, mode_of_chunk(p->like.st_mode)) &&
	    is_about_disk(errno))
		return -errno;
	return 0;
}

static int permit_named(void *arg, int64_t id)
{
	const struct permit *p = arg;
	char buf[B2F_CHUNK_NAME_SIZE];
	const char *name = b2f_files_name(id, buf);
	struct stat st;
	int fd, err = 0;

	if (id < 0 || (!fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
		       is_permitted(&st, &p->like)))
		return 0;
	fd = openat(p->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	/* The file may have been deleted. */
	if (fd < 0)
		return is_about_disk(errno) ? -errno : 0;
	if (fstat(fd, &st))
		err = -errno;
	else if (may_permit(p, &st))
		err = permit_opened(p, fd, &st);
	close(fd);
	return err;
}

int b2f_store_permit_chunks(int dirfd, const struct stat *index, uid_t owner)
{
	struct permit p = {.dir = dirfd, .owner = owner, .like = *index};

	return b2f_files_list(dirfd, permit_named, &p);
}

/*
 * Sets owner, permissions (@mode), xattrs and @times, some of which may not be
 * kept.
 */
static int take_all(int fd, const struct like *like, mode_t mode,
		    const struct timespec times[2], struct b2f_why *why)
{
	int err = like->fd >= 0 ? copy_xattrs(fd, like, why) : 0;

	if (!err)
		err = take_permissions(fd, like, mode, why);
	return err ? err : judge(futimens(fd, times), "set times", why);
}

int b2f_attributes_take(int fd, mode_t mode, const struct stat *st, int from,
			const char *except)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	struct like like = like_of(from, st);

	like.except = except;
	return take_all(fd, &like, mode, times, NULL);
}

static int permit_entry(void *index, int dir, const struct dirent *d)
{
	const struct like *like = index;
	int fd, err;

	if (strcmp(d->d_name, B2F_INDEX_NAME) == 0)
		return 0;
	fd = b2f_files_open(dir, d->d_name, O_RDONLY);
	if (fd < 0)
		return -errno;
	err = take_permissions(fd, like, mode_of_chunk(like->st.st_mode), NULL);
	close(fd);
	return err;
}

int b2f_attributes_spread(int dir, int index, mode_t mode)
{
	struct stat st, now;
	struct like like;
	int err;

	if (fstat(index, &st))
		return -errno;
	like = like_of(index, &st);
	err = b2f_directory_each(dir, ".", permit_entry, &like);
	/* Do this last: it lets other users into the directory. */
	if (!err)
		err = take_owner(dir, &st, &now, NULL);
	if (!err)
		err = judge(b2f_files_inherit_entry(index, dir), "", NULL);
	if (err)
		return err;
	if (now.st_gid != st.st_gid)
		mode = without_group(mode, &now);
	return judge(fchmod(dir, mode | (now.st_mode & S_ISGID)), "", NULL);
}

int b2f_files_inherit_file(int like_fd, int fd, struct b2f_why *why)
{
	struct timespec times[2];
	struct like like;
	struct stat st;

	if (fstat(like_fd, &st))
		return b2f_why_set(why, -errno, "stat: %s", strerror(errno));
	like = like_of(like_fd, &st);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	return take_all(fd, &like, st.st_mode & 07777, times, why);
}

int b2f_files_inherit(int dir, int fd, const struct timespec *mtime,
		      struct b2f_why *why)
{
	const struct timespec keep = {.tv_nsec = UTIME_OMIT};
	struct timespec times[2] = {keep, mtime ? *mtime : keep};
	struct like like;
	int err = open_like(dir, &like, why);

	if (err)
		return err;
	if (like.fd < 0)
		return judge(futimens(fd, times), "set times", why);
	times[0] = like.st.st_atim;
	if (!mtime)
		times[1] = like.st.st_mtim;
	err = take_all(fd, &like, like.st.st_mode & 07777, times, why);
	close(like.fd);
	return err;
}
