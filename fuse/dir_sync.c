/* SPDX-License-Identifier: BSD-3-Clause */
/* dir_sync.c - fsync of a directory, and of what is in it */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "dir_sync.h"

/* From so many files on, all of the filesystem at once is not slower. */
#define FILES_MAX 64

/* Some filesystems have no fsync for directories, nor need for it. */
static int sync_fd(int fd)
{
	return fsync(fd) && errno != EINVAL ? -errno : 0;
}

static int sync_entry(int dirfd, const char *name)
{
	int fd = openat(dirfd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int err;

	/* It may be an index that its owner has closed to readers. */
	if (fd < 0 && errno == EACCES)
		return syncfs(dirfd) ? -errno : 0;
	/* What else we cannot open, we have not written. */
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? -errno : 0;
	err = sync_fd(fd);
	close(fd);
	return err;
}

int fs_dir_sync_files(int path_fd)
{
	int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;
	int n = 0, err = 0;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && n <= FILES_MAX && (d = readdir(dir)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, "..") &&
		    ++n <= FILES_MAX)
			err = sync_entry(fd, d->d_name);
	if (!err && n > FILES_MAX)
		err = syncfs(fd) ? -errno : 0;
	else if (!err)
		err = sync_fd(fd);
	closedir(dir);
	return err;
}

int fs_dir_sync_names(int path_fd)
{
	int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 ? -errno : sync_fd(fd);

	if (fd >= 0)
		close(fd);
	return err;
}
