/* SPDX-License-Identifier: BSD-3-Clause */
/* rename.c - results take their names */
#include "cli/rename.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (link(from, to) == 0)
		return unlink(from) == 0 ? 0 : -errno;
	if (errno != EPERM && errno != ENOTSUP)
		return -errno;
	/* Without links either, only a look beforehand is left. */
	if (faccessat(AT_FDCWD, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return rename(from, to) == 0 ? 0 : -errno;
}

int cli_rename_sync(const char *path)
{
	char *copy = strdup(path);
	int fd, err = 0;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (fd < 0)
		return -errno;
	if (fsync(fd) != 0)
		err = -errno;
	close(fd);
	return err;
}

/* Without a system call for it there is a moment without @to. */
static int exchange_slowly(const char *from, const char *to)
{
	char *aside;
	int err = 0;

	if (asprintf(&aside, "%s.old", from) < 0)
		return -ENOMEM;
	if (rename(to, aside) != 0 || rename(from, to) != 0) {
		err = -errno;
		/* Only if it was the second one that failed. */
		rename(aside, to);
	} else if (rename(aside, from) != 0) {
		err = -errno;
	}
	free(aside);
	return err;
}

int cli_rename_exchange(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return exchange_slowly(from, to);
}
