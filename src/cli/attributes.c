/* SPDX-License-Identifier: BSD-3-Clause */
/* attributes.c - owner, permissions and times of a frame */
#include "cli/attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/need.h"
#include "programs/directory.h"

#define ACL "system.posix_acl_access"

/* The attribute that marks a copy: a key of its source and version. */
#define COPY "user.bloscctl.copy"

/* Limit on Linux for a list of xattrs, and for the value of one. */
#define XATTR_BYTES 65536

/* Only root may change owners; for other users this is not an error. */
static void own(int dir, const char *name, const struct stat *like)
{
	if (fchownat(dir, name, like->st_uid, like->st_gid,
		     AT_SYMLINK_NOFOLLOW) != 0)
		errno = 0;
}

static int own_entry(void *like, int dir, const struct dirent *d)
{
	own(dir, d->d_name, like);
	return 0;
}

/* Chunk files, too: they have the index's permissions already. */
static void own_all(int fd, struct stat like)
{
	(void)!b2f_directory_each(fd, ".", own_entry, &like);
	own(fd, ".", &like);
}

static void copy_xattr(int from, int to, const char *name, void *buf)
{
	ssize_t size = fgetxattr(from, name, buf, XATTR_BYTES);

	if (size >= 0 && fsetxattr(to, name, buf, (size_t)size, 0) != 0)
		errno = 0;
}

static void copy_xattrs(int from, int to, bool acl)
{
	char *names = cli_need(malloc(XATTR_BYTES));
	char *buf = cli_need(malloc(XATTR_BYTES));
	ssize_t size = flistxattr(from, names, XATTR_BYTES);

	for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1)
		if (acl ? strcmp(names + at, ACL) == 0
			: strncmp(names + at, "user.", 5) == 0 &&
				  strcmp(names + at, COPY) != 0)
			copy_xattr(from, to, names + at, buf);
	free(names);
	free(buf);
}

/*
 * A user who may read or write the frame must be able to enter its directory.
 */
static mode_t directory_mode(mode_t mode)
{
	mode &= 0666;
	return mode | (mode & 0444) >> 2 | (mode & 0222) >> 1;
}

static int set_one(int fd, mode_t mode, const struct stat *like, int from)
{
	const struct timespec times[2] = {like->st_atim, like->st_mtim};

	/* The owner must have write permission to set attributes. */
	if (from >= 0 && fchmod(fd, (mode & ~(mode_t)0077) | S_IWUSR) == 0)
		copy_xattrs(from, fd, false);
	if (fchown(fd, like->st_uid, like->st_gid) != 0)
		errno = 0;
	if (fchmod(fd, mode) != 0)
		return -errno;
	/* An ACL says more than the mode, so it comes afterwards. */
	if (from >= 0)
		copy_xattrs(from, fd, true);
	return futimens(fd, times) != 0 ? -errno : 0;
}

int cli_attributes_set_file(int fd, const struct stat *like, int from)
{
	return set_one(fd, like->st_mode & 0777, like, from);
}

/* Set the directory last: afterwards it may be another user's. */
static int set_frame(int dir, int index, const struct stat *like, int from)
{
	struct stat st;
	int err;

	if (fstat(dir, &st) != 0)
		return -errno;
	if (st.st_uid != like->st_uid || st.st_gid != like->st_gid)
		own_all(dir, *like);
	err = cli_attributes_set_file(index, like, from);
	if (!err && fchmod(dir, directory_mode(like->st_mode) |
					(st.st_mode & S_ISGID)) != 0)
		err = -errno;
	return err;
}

int cli_attributes_set(const struct cli_at *at, const struct stat *like,
		       int from)
{
	int dir, fd = cli_at_open_index(at, O_RDONLY, &dir);
	int err = fd < 0 ? fd : 0;

	if (!err && dir >= 0)
		err = set_frame(dir, fd, like, from);
	else if (!err)
		err = cli_attributes_set_file(fd, like, from);
	cli_at_close(fd);
	cli_at_close(dir);
	return err;
}

int cli_attributes_set_directory(int fd, const struct stat *like, int from)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	/* Keep the bit by which files get the group of the directory. */
	return set_one(fd,
		       (like->st_mode & (S_ISVTX | 0777)) |
			       (st.st_mode & S_ISGID),
		       like, from);
}

void cli_attributes_mark_copy(const struct cli_at *at, uint64_t key)
{
	int dir, fd = cli_at_open_index(at, O_RDONLY, &dir);

	/* A read-only file takes no attributes. */
	if (fd >= 0 && (fchmod(fd, 0600) != 0 ||
			fsetxattr(fd, COPY, &key, sizeof(key), 0) != 0))
		errno = 0;
	cli_at_close(fd);
	cli_at_close(dir);
}

int cli_attributes_is_copy(const struct cli_at *at, uint64_t key)
{
	int dir, fd = cli_at_open_index(at, O_RDONLY, &dir);
	int err = fd < 0 ? fd : 0;
	uint64_t its = 0;
	ssize_t size = -1;

	if (!err)
		size = fgetxattr(fd, COPY, &its, sizeof(its));
	if (!err && size < 0 && errno != ENODATA && errno != ERANGE)
		err = -errno;
	cli_at_close(fd);
	cli_at_close(dir);
	return err ? err : size == (ssize_t)sizeof(its) && its == key;
}
