/* SPDX-License-Identifier: BSD-3-Clause */
/* preset.c - settings for new chunks, as extended attributes */
#include "preset.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "b2frame/write.h"
#include "dir.h"
#include "frame_xattr.h"
#include "volume.h"
#include "words/value.h"

/* A longer value is invalid. */
#define VALUE_SIZE 128

/* Of Linux 6.13; <sys/syscall.h> may be older. */
#define SYS_LISTXATTRAT 465

/* How often another program may change the frame at the same moment. */
#define TRIES 5

enum preset { PRESET_CODEC, PRESET_CLEVEL, PRESET_FILTERS, PRESETS };

static const char *const names[PRESETS] = {
	FS_FRAME_XATTR_PREFIX "codec",
	FS_FRAME_XATTR_PREFIX "clevel",
	FS_FRAME_XATTR_PREFIX "filters",
};

/* The meaning of one value. */
struct meaning {
	struct b2f_encoding encoding;
	uint8_t filters[B2F_SLOTS];
};

/* Returns PRESETS for other names. */
static enum preset find(const char *name)
{
	int i = 0;

	while (i < PRESETS && strcmp(names[i], name) != 0)
		i++;
	return (enum preset)i;
}

bool fs_preset_is(const char *name)
{
	return find(name) != PRESETS;
}

static int understand_text(enum preset what, const char *text,
			   struct meaning *out)
{
	int64_t number = -1;
	int err = -EINVAL;

	*out = (struct meaning){.encoding = {.codec = -1, .clevel = -1}};
	switch (what) {
	case PRESET_CODEC:
		err = b2f_value_codec(text, &number);
		out->encoding.codec = (int)number;
		break;
	case PRESET_CLEVEL:
		err = b2f_value_number(text, 10, 9, &number);
		out->encoding.clevel = (int)number;
		break;
	case PRESET_FILTERS:
		err = b2f_value_filters(text, out->filters, NULL);
		out->encoding.filters = out->filters;
		break;
	case PRESETS:
		break;
	}
	return err;
}

static int understand(const struct fs_xattr_change *c, struct meaning *out)
{
	char text[VALUE_SIZE];

	if (c->size >= sizeof(text) || memchr(c->value, 0, c->size))
		return -EINVAL;
	memcpy(text, c->value, c->size);
	text[c->size] = 0;
	return understand_text(find(c->name), text, out);
}

int fs_preset_check(const struct fs_xattr_change *c)
{
	struct meaning meaning;

	return understand(c, &meaning);
}

/* Repeats until the new settings are in the frame on disk. */
static int set_open(struct fs *fs, struct fs_open_frame *frame,
		    const struct b2f_encoding *encoding)
{
	int err = fs_open_frame_allow_write(fs, frame, false);

	if (err)
		return err;
	for (int i = 0; i < TRIES; i++) {
		int changed = b2f_file_set_encoding(frame->open.data, encoding);

		if (changed <= 0)
			return changed;
		fs_open_frame_note_change(frame);
		err = fs_open_frame_commit(fs, frame, fs_commit_at_close(fs));
		if (err)
			return err;
	}
	return -EBUSY;
}

int fs_preset_set(struct fs *fs, struct fs_backed *node,
		  const struct fs_xattr_change *c)
{
	struct fs_open_frame *frame;
	struct meaning meaning;
	int err = understand(c, &meaning);

	if (!err)
		err = fs_open_frame_get(fs, node, &frame, NULL);
	if (err)
		return err;
	fs_open_frame_begin_writer(fs, frame);
	err = set_open(fs, frame, &meaning.encoding);
	if (!err)
		fs_open_frame_tidy(fs, frame, false);
	fs_open_frame_end_writer(fs, frame);
	fs_open_frame_put(fs, frame);
	return err;
}

/* Gets the value of @what from the file at @path, if it has a valid one. */
static bool get(const char *path, enum preset what, char text[VALUE_SIZE],
		struct meaning *out)
{
	ssize_t n = getxattr(path, names[what], text, VALUE_SIZE - 1);

	if (n < 0)
		return false;
	text[n] = 0;
	return strlen(text) == (size_t)n &&
	       understand_text(what, text, out) == 0;
}

/*
 * Most directories have no attributes at all, as one call shows.  Before Linux
 * 6.13, or if a filter of system calls refuses it, it has to walk through
 * /proc, which takes three times as long.
 */
static bool may_have_some(int fd, const char *path)
{
	long n = syscall(SYS_LISTXATTRAT, fd, ".", 0, NULL, 0);

	if (n < 0 && (errno == ENOSYS || errno == EPERM))
		n = listxattr(path, NULL, 0);
	return n > 0;
}

bool fs_preset_of_dir(int fd, struct b2f_settings *settings)
{
	char path[FS_DIR_PATH_SIZE], text[VALUE_SIZE];
	struct meaning meaning;

	fs_dir_path(fd, path);
	if (!may_have_some(fd, path))
		return false;
	if (get(path, PRESET_CODEC, text, &meaning))
		settings->codec = (uint8_t)meaning.encoding.codec;
	if (get(path, PRESET_CLEVEL, text, &meaning))
		settings->clevel = (uint8_t)meaning.encoding.clevel;
	if (get(path, PRESET_FILTERS, text, &meaning))
		memcpy(settings->filters, meaning.filters, B2F_SLOTS);
	return true;
}

static int copy_all(const char *from, const char *to)
{
	char text[VALUE_SIZE];
	struct meaning meaning;

	for (int i = 0; i < PRESETS; i++)
		if (get(from, (enum preset)i, text, &meaning) &&
		    setxattr(to, names[i], text, strlen(text), 0))
			return -errno;
	return 0;
}

/* The same for a directory, which it makes writable meanwhile. */
static int copy_to_closed(const char *from, const char *to)
{
	struct stat st;
	int err;

	if (stat(to, &st) || chmod(to, (st.st_mode & 07777) | S_IWUSR))
		return -errno;
	err = copy_all(from, to);
	if (chmod(to, st.st_mode & 07777) && !err)
		err = -errno;
	return err;
}

int fs_preset_inherit(int fd, const char *name)
{
	char from[FS_DIR_PATH_SIZE], to[FS_DIR_PATH_SIZE];
	int dir, err;

	fs_dir_path(fd, from);
	if (!may_have_some(fd, from))
		return 0;
	dir = openat(fd, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fs_dir_path(dir, to);
	err = copy_all(from, to);
	if (err == -EACCES)
		err = copy_to_closed(from, to);
	close(dir);
	return err;
}
