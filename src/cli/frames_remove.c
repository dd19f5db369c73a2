/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames_remove.c - removes a frame, and nothing but a frame
 *
 * Everything is checked before anything is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/error.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/text.h"
#include "programs/directory.h"
#include "programs/home.h"

static int refuse(const char *path, int err, const char *why)
{
	return cli_refuse(err, "%s: not removed: %s", path, why);
}

/* -ENOTEMPTY if there is anything but files of a frame. */
static int check_entry(void *arg, int dir, const struct dirent *d)
{
	enum b2f_part part = b2f_part_of(d->d_name);
	mode_t kind = part == B2F_PART_SLOT ? S_IFLNK : S_IFREG;
	struct stat st;

	(void)arg;
	if (fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	return part == B2F_PART_NONE || (st.st_mode & S_IFMT) != kind
		       ? -ENOTEMPTY
		       : 0;
}

static int check_directory(int dirfd, const char *name)
{
	return b2f_directory_each(dirfd, name, check_entry, NULL);
}

/* Prints why the directory stays, if @err says so. */
static int kept(const char *path, int err)
{
	if (err == -ENOTEMPTY)
		return refuse(path, err, "it holds other files too");
	return err ? refuse(path, err, b2f_strerror(err)) : 0;
}

int cli_frames_check_removable(int dirfd, const char *name, const char *label)
{
	return kept(label, check_directory(dirfd, name));
}

static int remove_directory(const struct cli_at *at, bool dry_run)
{
	int err = check_directory(at->dir, at->name);

	if (!err && !dry_run)
		err = b2f_frame_remove(at->dir, at->name);
	return kept(at->path, err);
}

static int remove_file(const struct cli_at *at, bool dry_run)
{
	return !dry_run && unlinkat(at->dir, at->name, 0)
		       ? refuse(at->path, -errno, strerror(errno))
		       : 0;
}

/* Looks at @at; refuses a link, or a changed index. */
static int check_same(const struct cli_at *at,
		      const struct b2f_frame_stamp *then, struct stat *st)
{
	struct b2f_frame_stamp now;
	struct stat index;
	int err;

	if (fstatat(at->dir, at->name, st, AT_SYMLINK_NOFOLLOW) != 0)
		return refuse(at->path, -errno, strerror(errno));
	if (S_ISLNK(st->st_mode))
		return refuse(at->path, -EBUSY, "it is a symbolic link");
	err = cli_frames_stat(at, &index);
	if (err)
		return refuse(at->path, err, b2f_strerror(err));
	now = b2f_frame_stamp_of(&index);
	if (!b2f_frame_stamp_equal(then, &now))
		return refuse(at->path, -EBUSY, "it was changed meanwhile");
	return 0;
}

int cli_frames_remove_file(const struct cli_at *at, const struct stat *then,
			   bool dry_run)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(then);
	struct stat st;
	int err = check_same(at, &stamp, &st);

	if (!err && !S_ISREG(st.st_mode))
		err = refuse(at->path, -EBUSY, "it is no regular file");
	return err ? err : remove_file(at, dry_run);
}

int cli_frames_remove_any(int dirfd, const char *name)
{
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	return errno == EISDIR ? b2f_frame_remove(dirfd, name) : -errno;
}

int cli_frames_refuse_locked(const char *path)
{
	return cli_refuse(-EAGAIN,
			  "%s: another program has locked it, or keeps "
			  "changing it",
			  path);
}

int cli_frames_hold(const char *path, struct b2f_frame *frame)
{
	return cli_message_try(path, b2f_frame_hold(frame));
}

/* Removes the frame at @at, which is held. */
static int remove_one(const struct cli_at *at, const struct b2f_frame *frame,
		      bool dry_run)
{
	struct b2f_frame_stamp then = b2f_frame_stamp_get(frame);
	struct stat st;
	int err = check_same(at, &then, &st);

	if (err)
		return err;
	if (S_ISDIR(st.st_mode))
		return remove_directory(at, dry_run);
	/*
	 * Stock writers may leave bytes behind a frame; a ZIP file has some,
	 * too.
	 */
	if (cli_frames_has_more(frame, &st))
		return refuse(at->path, -EBUSY,
			      "the file holds more than a frame");
	return remove_file(at, dry_run);
}

/* Remove the slot after the name; a leftover slot is removed by a mount. */
static int remove_name(const struct cli_at *at, const char *name, bool dry_run)
{
	CLI_OWN_FD int fd = -1;

	if (dry_run)
		return 0;
	if (unlinkat(at->dir, name, 0) != 0)
		return refuse(at->path, -errno, strerror(errno));
	fd = openat(at->dir, at->name,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && b2f_home_forget(fd, name))
		errno = 0;
	return 0;
}

/* Removes @name, one of the names of the frame at the home @at. */
static int remove_linked(const struct cli_at *at, const char *name,
			 const struct b2f_frame *frame, bool dry_run)
{
	int err, others;

	err = b2f_home_check_name(at->dir, name, at->name);
	if (err == -ESTALE)
		return refuse(at->path, -EBUSY, "it was changed meanwhile");
	if (err)
		return refuse(at->path, err, b2f_strerror(err));
	others = b2f_home_has_name(at->dir, at->name, name);
	if (others < 0)
		return refuse(at->path, others, b2f_strerror(others));
	if (others)
		return remove_name(at, name, dry_run);
	/* Without other names a mount shows the name of the home. */
	err = check_directory(at->dir, at->name);
	if (!err)
		err = remove_name(at, name, dry_run);
	return err ? kept(at->path, err) : remove_one(at, frame, dry_run);
}

/* Removes what the user named, @name in @dir: the frame @at or a name of it. */
static int remove_named(const struct cli_at *at, int dir, const char *name,
			const struct b2f_frame *frame, bool dry_run)
{
	char home[B2F_NAME_SIZE];
	struct cli_at there = *at;
	int names = b2f_home_is(name) ? b2f_home_has_name(dir, name, NULL) : 0;

	if (names < 0)
		return refuse(at->path, names, b2f_strerror(names));
	if (names)
		return refuse(at->path, -EBUSY,
			      "its names would lead nowhere: remove one of "
			      "them instead");
	if (!b2f_home_of(dir, name, home))
		return remove_one(at, frame, dry_run);
	there.dir = dir;
	there.name = home;
	return remove_linked(&there, name, frame, dry_run);
}

static int find_named(const struct cli_at *at, const struct b2f_frame *frame,
		      bool dry_run)
{
	B2F_OWN char *bare = cli_text_bare(at->name);
	const char *name;
	CLI_OWN_FD int dir = cli_at_open_holder(bare, O_RDONLY, &name);

	return dir < 0 ? refuse(at->path, dir, b2f_strerror(dir))
		       : remove_named(at, dir, name, frame, dry_run);
}

int cli_frames_remove(const struct cli_at *at, const char *shown,
		      struct b2f_frame *frame, bool dry_run)
{
	int err = cli_frames_hold(at->path, frame);

	if (err)
		return refuse(at->path, err, "a writer may lose data");
	if (cli_at_is_named(at))
		return find_named(at, frame, dry_run);
	return shown && strcmp(shown, at->name) != 0
		       ? remove_linked(at, shown, frame, dry_run)
		       : remove_one(at, frame, dry_run);
}
