/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.c - frames by the names that the user gives: opened, looked at */
#include "cli/frames.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/from_stdin.h"
#include "cli/from_url.h"
#include "cli/kind.h"
#include "cli/message.h"
#include "cli/pack_path.h"

/* A file or directory, or what lies in a store that is a file. */
static int open_path(const struct b2f_frame_options *options, const char *path,
		     struct b2f_frame **out)
{
	const char *key;
	char *file = cli_pack_path_split(path, false, &key);
	int err;

	/* Of a .b2e, the frame that it is itself can be opened, too. */
	if (!file && !options->offset && cli_pack_path_is_zip(path))
		file = cli_pack_path_split(path, true, &key);
	if (file) {
		err = cli_pack_path_open(options, file, key, out);
		free(file);
		return err;
	}
	cli_message_forget();
	return cli_message_explain(options->label,
				   b2f_frame_open(options, AT_FDCWD, path,
						  out));
}

int cli_frames_open(const struct b2f_frame_options *how, const char *path,
		    struct b2f_frame **out)
{
	struct b2f_frame_options options = *how;

	options.log = &cli_message_log;
	if (!options.label)
		options.label = path;
	switch (cli_kind_of(path)) {
	case CLI_KIND_STDIN:
		return cli_from_stdin_open(&options, out);
	case CLI_KIND_URL:
		return cli_from_url_open(&options, path, out);
	case CLI_KIND_MEMBER:
	case CLI_KIND_PATH:
		break;
	}
	return open_path(&options, path, out);
}

static const char *reason(const struct b2f_frame *frame, int err)
{
	if (b2f_frame_stands_for(frame))
		return "its data are elsewhere";
	if (b2f_frame_objects(frame))
		return "it holds serialized objects, no plain bytes";
	return b2f_frame_shown_error(frame) ? "it cannot be read as an array"
					    : strerror(-err);
}

int cli_frames_open_file(struct b2f_runtime *runtime,
			 const struct b2f_frame_options *how, const char *path,
			 struct b2f_file **out)
{
	struct b2f_frame *frame = NULL;
	int err = cli_frames_open(how, path, &frame);

	if (err)
		return err;
	err = b2f_file_open(runtime, frame, out);
	if (err) {
		/* Why not was said when it was opened. */
		cli_message_error("%s: %s", b2f_frame_label(frame),
				  reason(frame, err));
		b2f_frame_close(frame);
	}
	return err;
}

int cli_frames_open_writable(struct b2f_runtime *runtime,
			     const struct b2f_frame_options *how,
			     const char *path,
			     const struct b2f_write_options *write,
			     struct b2f_file **out)
{
	struct b2f_file *file = NULL;
	int err = cli_frames_open_file(runtime, how, path, &file);

	if (err)
		return err;
	err = b2f_file_allow_write(file, write);
	if (!err)
		*out = file;
	else
		b2f_file_close(file);
	return cli_message_explain(how->label, err);
}

int cli_frames_runtime(unsigned int nthreads, struct b2f_runtime **out)
{
	struct b2f_runtime_options options = {.nworkers = nthreads};

	return cli_message_errno("cannot start",
				 b2f_runtime_new(&options, out));
}

/* The store that @path leads into. */
static int stat_pack(const char *path, struct stat *out)
{
	const char *key;
	char *file = cli_pack_path_split(path, false, &key);
	int err = file && stat(file, out) == 0 ? 0 : -ENOENT;

	free(file);
	return err;
}

static int stat_path(const char *path, struct stat *out)
{
	char *index = NULL;
	struct stat st;
	int err = 0;

	if (stat(path, &st) != 0)
		return -errno;
	if (S_ISDIR(st.st_mode)) {
		if (asprintf(&index, "%s/chunks.b2frame", path) < 0)
			return -ENOMEM;
		if (stat(index, &st) != 0)
			err = -errno;
		free(index);
	}
	if (!err)
		*out = st;
	return err;
}

int cli_frames_stat(const char *path, struct stat *out)
{
	switch (cli_kind_of(path)) {
	case CLI_KIND_STDIN:
		return fstat(STDIN_FILENO, out) ? -errno : 0;
	case CLI_KIND_URL:
		return cli_from_url_stat(path, out);
	case CLI_KIND_MEMBER:
		return stat_pack(path, out);
	case CLI_KIND_PATH:
		break;
	}
	return stat_path(path, out);
}

bool cli_frames_is(const char *path, const struct stat *st)
{
	struct stat now;

	return cli_frames_stat(path, &now) == 0 && now.st_dev == st->st_dev &&
	       now.st_ino == st->st_ino;
}

bool cli_frames_has_more(const struct b2f_frame *frame, const struct stat *st)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);

	return !info->sparse && (uint64_t)st->st_size != info->frame_len;
}

bool cli_frames_has_chunks(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool has = false;

	while (dir && !has && (entry = readdir(dir)))
		has = b2f_part_of(entry->d_name) == B2F_PART_CHUNK;
	if (dir)
		closedir(dir);
	return has;
}

static void forget_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

void cli_frames_forget_pages(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir) {
		forget_file(AT_FDCWD, path);
		return;
	}
	while ((entry = readdir(dir)))
		forget_file(dirfd(dir), entry->d_name);
	closedir(dir);
}
