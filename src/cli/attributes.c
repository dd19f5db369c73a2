/* SPDX-License-Identifier: BSD-3-Clause */
/* attributes.c - who may use a frame, and when it was changed */
#include "cli/attributes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "b2frame/create.h"

#define ACL "system.posix_acl_access"

/* Of which version of what a file is a copy. */
#define COPY "user.bloscctl.copy"

/* Most bytes of a list of xattrs, and of the value of one, on Linux. */
#define XATTR_BYTES 65536

/* Only root may give files away; for other users this is not an error. */
static void own(int dir, const char *name, const struct stat *like)
{
	if (fchownat(dir, name, like->st_uid, like->st_gid,
		     AT_SYMLINK_NOFOLLOW) != 0)
		errno = 0;
}

/* Chunk files, too: they have the permissions of the index already. */
static void own_all(const char *path, const struct stat *like)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, "..") != 0)
			own(dirfd(dir), entry->d_name, like);
	closedir(dir);
}

static void copy_xattr(const char *from, const char *to, const char *name,
		       void *buf)
{
	ssize_t size = getxattr(from, name, buf, XATTR_BYTES);

	if (size >= 0 && setxattr(to, name, buf, (size_t)size, 0) != 0)
		errno = 0;
}

static void copy_xattrs(const char *from, const char *to, bool acl)
{
	char *names = malloc(XATTR_BYTES), *buf = malloc(XATTR_BYTES);
	ssize_t size = -1;

	if (names && buf)
		size = listxattr(from, names, XATTR_BYTES);
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

static int set_one(const char *path, mode_t mode, const struct stat *like,
		   const char *from)
{
	const struct timespec times[2] = {like->st_atim, like->st_mtim};

	/* One that its owner may not write to takes no attributes. */
	if (from && chmod(path, (mode & ~(mode_t)0077) | S_IWUSR) == 0)
		copy_xattrs(from, path, false);
	own(AT_FDCWD, path, like);
	if (chmod(path, mode) != 0)
		return -errno;
	/* An ACL says more than the permissions. */
	if (from)
		copy_xattrs(from, path, true);
	return utimensat(AT_FDCWD, path, times, 0) != 0 ? -errno : 0;
}

/* The file @path, or the index of the frame in the directory; malloc'ed. */
static char *file_of(const char *path)
{
	struct stat st;
	bool is_dir = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	char *file;

	return asprintf(&file, "%s%s", path, is_dir ? "/" B2F_INDEX_NAME : "") <
			       0
		       ? NULL
		       : file;
}

int cli_attributes_set(const char *path, const struct stat *like,
		       const char *from)
{
	char *file = file_of(path), *model = from ? file_of(from) : NULL;
	mode_t mode = directory_mode(like->st_mode);
	struct stat st = {0};
	int err = !file || (from && !model) ? -ENOMEM : 0;

	if (!err && lstat(path, &st) != 0)
		err = -errno;
	if (S_ISDIR(st.st_mode) &&
	    (st.st_uid != like->st_uid || st.st_gid != like->st_gid))
		own_all(path, like);
	if (!err)
		err = set_one(file, like->st_mode & 0777, like, model);
	if (!err && S_ISDIR(st.st_mode) &&
	    chmod(path, mode | (st.st_mode & S_ISGID)) != 0)
		err = -errno;
	free(file);
	free(model);
	return err;
}

int cli_attributes_set_directory(const char *path, const struct stat *like,
				 const char *from)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return -errno;
	/* That files get the group of the directory is inherited. */
	return set_one(path,
		       (like->st_mode & (S_ISVTX | 0777)) |
			       (st.st_mode & S_ISGID),
		       like, from);
}

void cli_attributes_mark_copy(const char *path, uint64_t key)
{
	char *file = file_of(path);

	/* One that may only be read takes no attributes. */
	if (file && (chmod(file, 0600) != 0 ||
		     setxattr(file, COPY, &key, sizeof(key), 0) != 0))
		errno = 0;
	free(file);
}

int cli_attributes_is_copy(const char *path, uint64_t key)
{
	char *file = file_of(path);
	uint64_t its = 0;
	ssize_t size = -1;
	int err = file ? 0 : -ENOMEM;

	if (file)
		size = getxattr(file, COPY, &its, sizeof(its));
	if (file && size < 0 && errno != ENODATA && errno != ERANGE)
		err = -errno;
	free(file);
	return err ? err : size == (ssize_t)sizeof(its) && its == key;
}

mode_t cli_attributes_umask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return mask;
}
