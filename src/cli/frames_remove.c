/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames_remove.c - removes a frame, and nothing but a frame
 *
 * All is checked before anything is removed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frames.h"
#include "cli/message.h"

static int refuse(const char *path, int err, const char *why)
{
	cli_message_error("%s: not removed: %s", path, why);
	return err;
}

/* Only what belongs into a frame: -ENOTEMPTY if anything else is there. */
static int check_entries(DIR *dir)
{
	const struct dirent *entry;
	enum b2f_part part;
	struct stat st;

	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) != 0)
			return -errno;
		part = b2f_part_of(entry->d_name);
		if (part == B2F_PART_NONE ||
		    (st.st_mode & S_IFMT) !=
			    (part == B2F_PART_SLOT ? S_IFLNK : S_IFREG))
			return -ENOTEMPTY;
	}
	return -errno;
}

static int check_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = dir ? 0 : -errno;

	if (dir) {
		err = check_entries(dir);
		closedir(dir);
	} else if (fd >= 0) {
		close(fd);
	}
	return err;
}

/* Says why @err keeps the directory, if it does. */
static int kept(const char *path, int err)
{
	if (err == -ENOTEMPTY)
		return refuse(path, err, "it holds other files too");
	return err ? refuse(path, err, strerror(-err)) : 0;
}

int cli_frames_check_removable(const char *path)
{
	return kept(path, check_directory(path));
}

static int remove_directory(const char *path)
{
	int err = check_directory(path);

	return kept(path, err ? err : b2f_frame_remove(AT_FDCWD, path));
}

static int remove_file(const char *path)
{
	return unlink(path) ? refuse(path, -errno, strerror(errno)) : 0;
}

/* Looks at what is at @path, unless it is a link or the index has changed. */
static int check_same(const char *path, const struct b2f_frame_stamp *then,
		      struct stat *st)
{
	struct b2f_frame_stamp now;
	struct stat index;
	int err;

	if (lstat(path, st) != 0)
		return refuse(path, -errno, strerror(errno));
	if (S_ISLNK(st->st_mode))
		return refuse(path, -EBUSY, "it is a symbolic link");
	err = cli_frames_stat(path, &index);
	if (err)
		return refuse(path, err, strerror(-err));
	now = b2f_frame_stamp_of(&index);
	if (!b2f_frame_stamp_equal(then, &now))
		return refuse(path, -EBUSY, "it was changed meanwhile");
	return 0;
}

int cli_frames_remove_file(const char *path, const struct stat *then)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(then);
	struct stat st;
	int err = check_same(path, &stamp, &st);

	if (!err && !S_ISREG(st.st_mode))
		err = refuse(path, -EBUSY, "it is no regular file");
	return err ? err : remove_file(path);
}

int cli_frames_hold(const char *path, struct b2f_frame *frame)
{
	cli_message_forget();
	return cli_message_explain(path, b2f_frame_hold(frame));
}

int cli_frames_remove(const char *path, struct b2f_frame *frame)
{
	struct b2f_frame_stamp then = b2f_frame_stamp_get(frame);
	struct stat st;
	int err = cli_frames_hold(path, frame);

	if (err)
		return refuse(path, err, "a writer may lose data");
	err = check_same(path, &then, &st);
	if (err)
		return err;
	if (S_ISDIR(st.st_mode))
		return remove_directory(path);
	/* Stock writers may leave bytes behind a frame, but so does a zip. */
	if (cli_frames_has_more(frame, &st))
		return refuse(path, -EBUSY, "the file holds more than a frame");
	return remove_file(path);
}
