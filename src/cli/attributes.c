/* SPDX-License-Identifier: BSD-3-Clause */
/* attributes.c - owner, permissions and times of a frame */
#include "cli/attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "programs/directory.h"

/* The attribute that marks a copy: a key of its source and version. */
#define COPY "user.bloscctl.copy"

/*
 * A user who may read or write the frame must be able to enter its directory.
 */
static mode_t directory_mode(mode_t mode)
{
	mode &= 0666;
	return mode | (mode & 0444) >> 2 | (mode & 0222) >> 1;
}

int cli_attributes_set_file(int fd, const struct stat *like, int from)
{
	return b2f_attributes_take(fd, like->st_mode & 0777, like, from, COPY);
}

static int set_frame(int dir, int index, const struct stat *like, int from)
{
	int err = cli_attributes_set_file(index, like, from);
	struct stat now;

	if (!err && fstat(index, &now) != 0)
		err = -errno;
	return err ? err
		   : b2f_attributes_spread(dir, index,
					   directory_mode(now.st_mode));
}

int cli_attributes_set(const struct cli_at *at, const struct stat *like,
		       int from)
{
	CLI_OWN_FD int dir = -1;
	CLI_OWN_FD int fd = cli_at_open_index(at, O_RDONLY, &dir);

	if (fd < 0)
		return fd;
	return dir >= 0 ? set_frame(dir, fd, like, from)
			: cli_attributes_set_file(fd, like, from);
}

int cli_attributes_set_directory(int fd, const struct stat *like, int from)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	/* Keep the bit by which files get the group of the directory. */
	return b2f_attributes_take(
		fd, (like->st_mode & (S_ISVTX | 0777)) | (st.st_mode & S_ISGID),
		like, from, COPY);
}

void cli_attributes_mark_copy(const struct cli_at *at, uint64_t key)
{
	CLI_OWN_FD int fd = cli_at_open_index(at, O_RDONLY, NULL);

	/* A read-only file takes no attributes. */
	if (fd >= 0 && (fchmod(fd, 0600) != 0 ||
			fsetxattr(fd, COPY, &key, sizeof(key), 0) != 0))
		errno = 0;
}

int cli_attributes_is_copy(const struct cli_at *at, uint64_t key)
{
	CLI_OWN_FD int fd = cli_at_open_index(at, O_RDONLY, NULL);
	uint64_t its = 0;
	ssize_t size;

	if (fd < 0)
		return fd;
	size = fgetxattr(fd, COPY, &its, sizeof(its));
	if (size < 0 && errno != ENODATA && errno != ERANGE)
		return -errno;
	return size == (ssize_t)sizeof(its) && its == key;
}
