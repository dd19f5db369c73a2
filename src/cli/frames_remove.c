/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames_remove.c - removes a frame, and nothing but a frame
 *
 * All is checked before anything is removed.  The index goes first: what is
 * left if that is interrupted is no frame any more, instead of a damaged one.
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

/* True for eight upper-case hex digits and ".chunk". */
static bool is_chunk_name(const char *name)
{
	return strspn(name, "0123456789ABCDEF") == 8 &&
	       strcmp(name + 8, ".chunk") == 0;
}

/* One of the names of the frame. */
static bool is_slot(const char *name)
{
	return strncmp(name, B2F_SLOT_NAME, strlen(B2F_SLOT_NAME)) == 0;
}

/* True for a chunk file that was not committed: ".0000002A.new". */
static bool is_pending_name(const char *name)
{
	return *name == '.' && strspn(name + 1, "0123456789ABCDEF") == 8 &&
	       strcmp(name + 9, ".new") == 0;
}

static bool is_ours(const char *name)
{
	return is_chunk_name(name) || is_pending_name(name) || is_slot(name) ||
	       strcmp(name, "chunks.b2frame") == 0 ||
	       strcmp(name, ".chunks.b2frame.new") == 0 ||
	       strcmp(name, ".b2lock") == 0;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Goes through the entries from the start.  Returns what @visit does. */
static int for_each(DIR *dir, int (*visit)(DIR *dir, const char *name))
{
	struct dirent *entry;
	int err = 0;

	rewinddir(dir);
	for (errno = 0; !err && (entry = readdir(dir)); errno = 0)
		if (!is_dots(entry->d_name))
			err = visit(dir, entry->d_name);
	return err ? err : -errno;
}

static int check_entry(DIR *dir, const char *name)
{
	struct stat st;

	if (!is_ours(name))
		return -ENOTEMPTY;
	if (fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	if (is_slot(name))
		return S_ISLNK(st.st_mode) ? 0 : -ENOTEMPTY;
	return S_ISREG(st.st_mode) ? 0 : -ENOTEMPTY;
}

static int remove_entry(DIR *dir, const char *name)
{
	/* Only what belongs here, even if that came after the check. */
	if (is_ours(name) && unlinkat(dirfd(dir), name, 0) != 0)
		return -errno;
	return 0;
}

static int remove_entries(DIR *dir)
{
	int err;

	err = for_each(dir, check_entry);
	if (err)
		return err;
	if (unlinkat(dirfd(dir), "chunks.b2frame", 0) != 0)
		return -errno;
	return for_each(dir, remove_entry);
}

static int open_directory(const char *path, DIR **out)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return refuse(path, -errno, strerror(errno));
	*out = fdopendir(fd);
	if (*out)
		return 0;
	close(fd);
	return refuse(path, -ENOMEM, strerror(ENOMEM));
}

int cli_frames_check_removable(const char *path)
{
	DIR *dir = NULL;
	int err;

	err = open_directory(path, &dir);
	if (err)
		return err;
	err = for_each(dir, check_entry);
	closedir(dir);
	if (err == -ENOTEMPTY)
		return refuse(path, err, "it holds other files too");
	return err ? refuse(path, err, strerror(-err)) : 0;
}

static int remove_directory(const char *path)
{
	DIR *dir = NULL;
	int err;

	err = open_directory(path, &dir);
	if (err)
		return err;
	err = remove_entries(dir);
	closedir(dir);
	if (!err && rmdir(path) != 0)
		err = -errno;
	if (err == -ENOTEMPTY)
		return refuse(path, err, "it holds other files too");
	return err ? refuse(path, err, strerror(-err)) : 0;
}

static int remove_file(const char *path, const struct stat *st,
		       const struct b2f_frame *frame)
{
	/* Stock writers may leave bytes behind a frame, but so does a zip. */
	if (cli_frames_has_more(frame, st))
		return refuse(path, -EBUSY, "the file holds more than a frame");
	if (unlink(path) != 0)
		return refuse(path, -errno, strerror(errno));
	return 0;
}

int cli_frames_remove(const char *path, const struct b2f_frame *frame)
{
	struct b2f_frame_stamp then = b2f_frame_stamp_get(frame), now;
	struct stat st, index;
	int err;

	if (lstat(path, &st) != 0)
		return refuse(path, -errno, strerror(errno));
	if (S_ISLNK(st.st_mode))
		return refuse(path, -EBUSY, "it is a symbolic link");
	err = cli_frames_stat(path, &index);
	if (err)
		return refuse(path, err, strerror(-err));
	now = b2f_frame_stamp_of(&index);
	if (!b2f_frame_stamp_equal(&then, &now))
		return refuse(path, -EBUSY, "it was changed meanwhile");
	if (S_ISDIR(st.st_mode))
		return remove_directory(path);
	return remove_file(path, &st, frame);
}
