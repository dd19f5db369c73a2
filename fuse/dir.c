/* SPDX-License-Identifier: BSD-3-Clause */
/* dir.c - looks at and syncs directories */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "dir.h"
#include "programs/directory.h"

/* For more files, one syncfs(2) takes no longer. */
#define FILES_MAX 64

/* The magic of f2fs and overlay is not in all headers. */
#define F2FS	0xf2f52010
#define OVERLAY 0x794c7630

static const char base[] = "/proc/self/fd/";

/* By hand: a new file needs three of them, and snprintf(3) is slow. */
void fs_dir_path(int fd, char path[FS_DIR_PATH_SIZE])
{
	unsigned int n = (unsigned int)fd;
	size_t end = sizeof(base);

	memcpy(path, base, sizeof(base));
	for (unsigned int rest = n; rest >= 10; rest /= 10)
		end++;
	path[end] = '\0';
	for (; end >= sizeof(base); n /= 10)
		path[--end] = (char)('0' + n % 10);
}

const char *fs_dir_number(int fd, char path[FS_DIR_PATH_SIZE])
{
	fs_dir_path(fd, path);
	return path + sizeof(base) - 1;
}

bool fs_dir_has(int dirfd, const char *name, const struct stat *st)
{
	struct stat now;

	return fstatat(dirfd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

bool fs_dir_is_local(int fd)
{
	struct statfs st;

	if (fstatfs(fd, &st))
		return false;
	switch ((uint32_t)st.f_type) {
	case EXT4_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case F2FS:
	case OVERLAY:
		return true;
	default:
		return false;
	}
}

bool fs_dir_changes_births(int fd)
{
	struct statfs st;

	return fstatfs(fd, &st) == 0 && (uint32_t)st.f_type == OVERLAY;
}

static int open_dir(int path_fd)
{
	int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Some filesystems have no fsync for directories, and need none. */
static int sync_fd(int fd)
{
	int ret;

	do
		ret = fsync(fd);
	while (ret && errno == EINTR);
	return ret && errno != EINVAL ? -errno : 0;
}

/* Syncs the whole filesystem that @fd is on. */
static int sync_all(int fd)
{
	return syncfs(fd) ? -errno : 0;
}

/* @fd: the opened descriptor, or the errno of the open. */
static int sync_and_close(int fd, int (*sync)(int fd))
{
	int err = fd;

	if (fd < 0)
		return err;
	err = sync(fd);
	close(fd);
	return err;
}

static int sync_entry(int dirfd, const char *name)
{
	int fd = openat(dirfd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	/* The owner may have made the index unreadable for this user. */
	if (fd < 0 && errno == EACCES)
		return sync_all(dirfd);
	/* It has gone, or is no file: this mount has not written to it. */
	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENXIO ||
		       errno == ENODEV))
		return 0;
	return sync_and_close(fd < 0 ? -errno : fd, sync_fd);
}

/* Opens the file of the O_PATH descriptor @path_fd. */
static int open_file(int path_fd)
{
	char path[FS_DIR_PATH_SIZE];
	int fd;

	fs_dir_path(path_fd, path);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	/* The owner may have removed the right to read it. */
	if (fd < 0)
		fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int fs_dir_open_to_sync(int path_fd)
{
	int fd = open_dir(path_fd);

	return fd == -ENOTDIR ? open_file(path_fd) : fd;
}

int fs_dir_sync_names(int path_fd)
{
	return sync_and_close(open_dir(path_fd), sync_fd);
}

int fs_dir_sync_filesystem(int path_fd)
{
	return sync_and_close(fs_dir_open_to_sync(path_fd), sync_all);
}

/* Syncs one entry; returns 1 to end the walk when there are too many. */
static int sync_some(void *n, int dirfd, const struct dirent *d)
{
	return ++*(int *)n > FILES_MAX ? 1 : sync_entry(dirfd, d->d_name);
}

int fs_dir_sync(int path_fd)
{
	int n = 0, err = b2f_directory_each(path_fd, ".", sync_some, &n);

	/* A contiguous frame is one file. */
	if (err == -ENOTDIR)
		return sync_and_close(open_file(path_fd), sync_fd);
	if (err < 0)
		return err;
	return sync_and_close(open_dir(path_fd), err ? sync_all : sync_fd);
}
