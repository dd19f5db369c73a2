/* SPDX-License-Identifier: BSD-3-Clause */
/* durable.c - a frame that takes the place of another one must not be worse */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "durable.h"

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

	/* What we cannot open, we have not written. */
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? -errno : 0;
	err = sync_fd(fd);
	close(fd);
	return err;
}

/* From so many files on, all of the filesystem at once is not slower. */
#define FILES_MAX 64

/* Makes all files of the directory @path_fd durable, and their names. */
static int sync_directory(int path_fd)
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

bool fs_durable_is_not(struct fs *fs, struct fs_node *node)
{
	uint64_t left_to;

	if (!node)
		return false;
	pthread_mutex_lock(&fs->files.lock);
	left_to = node->state.left_to;
	pthread_mutex_unlock(&fs->files.lock);
	return left_to && fs_ticker_waits_for(fs, left_to);
}

/*
 * Was the frame @node left (to *@left_to), or may it have been before the node
 * was made?
 */
static bool may_be_left(struct fs *fs, struct fs_node *node, uint64_t *left_to)
{
	bool known;

	pthread_mutex_lock(&fs->files.lock);
	known = node->state.knows_left;
	*left_to = node->state.left_to;
	pthread_mutex_unlock(&fs->files.lock);
	return known ? fs_durable_is_not(fs, node)
		     : fs_ticker_has_sync(fs, node->dev);
}

int fs_durable_make_left(struct fs *fs, struct fs_node *node, int path_fd)
{
	uint64_t left_to;
	bool left = may_be_left(fs, node, &left_to);
	int err = left ? sync_directory(path_fd) : 0;

	if (err)
		return err;
	pthread_mutex_lock(&fs->files.lock);
	/* Else it was left once more meanwhile. */
	if (left && node->state.left_to == left_to)
		node->state.left_to = 0;
	node->state.knows_left = true;
	pthread_mutex_unlock(&fs->files.lock);
	return 0;
}

int fs_durable_make(struct fs *fs, struct fs_node *node,
		    const struct fs_found *found)
{
	struct fs_file *file = node ? fs_frames_peek(fs, node) : NULL;
	int err = 0;

	if (file) {
		err = fs_frames_commit(fs, file, B2F_COMMIT_DURABLE);
		fs_frames_put(fs, file);
		return err;
	}
	if (node)
		return fs_durable_make_left(fs, node, found->probe.fd);
	if (!fs_ticker_has_sync(fs, found->probe.st.st_dev))
		return 0;
	return sync_directory(found->probe.fd);
}
