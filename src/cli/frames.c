/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.c - opens frames, and examines them */
#include "cli/frames.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "b2frame/error.h"
#include "cli/message.h"
#include "cli/mounts.h"
#include "cli/need.h"
#include "cli/pack_path.h"
#include "cli/server.h"
#include "programs/directory.h"
#include "programs/io.h"

#define STDIN_NAME "standard input"

/*
 * Copies the rest of standard input, a pipe, to an unnamed file in $TMPDIR or
 * /tmp, because reading a frame needs random access.  Returns a descriptor.
 */
static int keep(void)
{
	const char *dir = getenv("TMPDIR");
	char buf[65536];
	ssize_t n;
	int err = 0;
	int fd = open(dir && *dir ? dir : "/tmp",
		      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	while (!err && (n = b2f_io_read(STDIN_FILENO, buf, sizeof(buf),
					B2F_IO_NEXT)) != 0)
		err = n < 0 ? (int)n
			    : b2f_io_write(fd, buf, (size_t)n, B2F_IO_NEXT);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Is it a regular file, read from its start? */
static bool is_whole_file(void)
{
	struct stat st;

	return fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
	       lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
}

/*
 * Opens the contiguous frame on standard input, once, with @options.  Errors:
 * b2f_frame_open()'s, and errnos of the unnamed file; prints all.
 */
static int open_stdin(const struct b2f_frame_options *options,
		      struct b2f_frame **out)
{
	struct b2f_frame_options named = *options;
	int fd = is_whole_file() ? STDIN_FILENO : keep();
	char path[40];
	int err;

	named.label = STDIN_NAME;
	if (fd < 0)
		return cli_message_errno(STDIN_NAME, fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = cli_message_try(STDIN_NAME,
			      b2f_frame_open(&named, AT_FDCWD, path, out));
	/* The frame has its own descriptor. */
	if (fd != STDIN_FILENO)
		close(fd);
	return err;
}

static bool is_zip(const char *path)
{
	const char *suffix = strrchr(path, '.');

	return suffix && suffix > path && strcmp(suffix, ".b2z") == 0;
}

/* The operand may lead into a store that is a file. */
static int open_named(const struct b2f_frame_options *options,
		      const char *path, struct b2f_frame **out)
{
	bool whole = !options->offset && is_zip(path);
	const char *key;
	/* A .b2e may itself be opened as a frame. */
	B2F_OWN char *file = cli_pack_path_split(path, whole, &key);
	struct cli_at store;

	if (file) {
		store = cli_at_store(file);
		return cli_pack_path_open(options, &store, key, out);
	}
	if (b2f_remote_is_url(path))
		return cli_server_open(options, path, out);
	return cli_message_try(options->label,
			       b2f_frame_open(options, AT_FDCWD, path, out));
}

static int open_below(const struct b2f_frame_options *how,
		      const struct cli_at *at, struct b2f_frame **out)
{
	struct b2f_frame_options options = *how;

	if (at->kind == CLI_KIND_MEMBER)
		return cli_pack_path_open(&options, at, at->key, out);
	options.nofollow = true;
	return cli_message_try(
		options.label,
		b2f_frame_open(&options, at->dir, at->name, out));
}

bool cli_frames_is_frame(const struct cli_at *at)
{
	struct b2f_frame_peek peek;

	if (at->kind != CLI_KIND_PATH)
		return false;
	return (cli_at_is_named(at) ? cli_frames_peek(at->path, &peek)
				    : b2f_frame_peek(at->dir, at->name, NULL,
						     &peek)) == 0 &&
	       peek.is_frame;
}

uint64_t cli_frames_cbytes(const struct cli_at *at)
{
	struct b2f_frame_peek peek;

	return b2f_frame_peek(at->dir, at->name, NULL, &peek) ? 0 : peek.cbytes;
}

int cli_frames_peek(const char *path, struct b2f_frame_peek *out)
{
	B2F_OWN char *real = realpath(path, NULL);

	return real ? b2f_frame_peek(AT_FDCWD, real, NULL, out) : -errno;
}

bool cli_frames_tell_mounted(const struct cli_at *at)
{
	json_t *object = cli_mounts_frame(at);
	bool is = object != NULL;

	if (is)
		cli_message_error("%s: it is a file of a mount; the frame is %s",
				  at->path,
				  json_string_value(json_object_get(object,
								    "frame")));
	json_decref(object);
	return is;
}

int cli_frames_open(const struct b2f_frame_options *how,
		    const struct cli_at *at, struct b2f_frame **out)
{
	struct b2f_frame_options options = {.label = NULL};
	int err;

	if (how)
		options = *how;
	options.log = &cli_message_log;
	if (!options.label)
		options.label = at->path;
	if (at->kind == CLI_KIND_STDIN)
		return open_stdin(&options, out);
	err = cli_at_is_named(at) ? open_named(&options, at->name, out)
				  : open_below(&options, at, out);
	if (err == B2F_ENOTFRAME && at->kind == CLI_KIND_PATH)
		(void)cli_frames_tell_mounted(at);
	return err;
}

static const char *reason(const struct b2f_frame *frame, int err)
{
	if (b2f_frame_stands_for(frame))
		return "its data are elsewhere";
	if (b2f_frame_objects(frame))
		return "it holds serialized objects, no plain bytes";
	return b2f_frame_shown_error(frame) ? "it cannot be read as an array"
					    : b2f_strerror(err);
}

int cli_frames_open_file(struct b2f_runtime *runtime,
			 const struct b2f_frame_options *how,
			 const struct cli_at *at, struct b2f_file **out)
{
	struct b2f_frame *frame = NULL;
	int err = cli_frames_open(how, at, &frame);

	if (err)
		return err;
	err = b2f_file_open(runtime, frame, out);
	if (err) {
		/* b2f_frame_open() has logged the cause. */
		cli_message_error("%s: %s", b2f_frame_label(frame),
				  reason(frame, err));
		b2f_frame_close(frame);
	}
	return err;
}

static void show_progress(void *arg, uint64_t done, uint64_t total)
{
	struct cli_findings *out = arg;

	cli_progress_update(out->progress, done, total);
}

static void note_chunk(void *arg, uint64_t nchunk, enum b2f_check_state state)
{
	struct cli_findings *out = arg;

	out->states[nchunk] = (uint8_t)state;
}

int cli_frames_check(struct b2f_runtime *runtime, struct b2f_frame *frame,
		     const char *path, bool chunks, struct cli_findings *out)
{
	const struct b2f_check_options options = {
		.progress = show_progress,
		.chunk = chunks ? note_chunk : NULL,
		.arg = out};
	int err = 0;

	if (chunks)
		out->states = calloc(b2f_frame_info_get(frame)->nchunks + 1, 1);
	if (chunks && !out->states)
		err = -ENOMEM;
	if (!err)
		err = b2f_check_frame(runtime, frame, &options, &out->check);
	return cli_message_explain(path, err);
}

int cli_frames_runtime(unsigned int nthreads, struct b2f_runtime **out)
{
	struct b2f_runtime_options options = {.nworkers = nthreads};

	return cli_message_errno("cannot start",
				 b2f_runtime_new(&options, out));
}

static int open_store(const struct cli_at *at, int flags)
{
	B2F_OWN char *file = NULL;
	const char *key;
	int fd;

	if (!cli_at_is_named(at))
		return cli_at_open(at, flags);
	file = cli_pack_path_split(at->name, false, &key);
	fd = file ? open(file, flags | O_CLOEXEC) : -1;
	return fd >= 0 ? fd : file ? -errno : -ENOENT;
}

static int stat_object(const char *url, struct stat *out)
{
	const char *key;
	B2F_OWN char *store = cli_pack_path_split(url, true, &key);

	return cli_server_stat(store ? store : url, out);
}

int cli_frames_stat(const struct cli_at *at, struct stat *out)
{
	int fd = STDIN_FILENO, err;

	if (at->kind == CLI_KIND_URL)
		return stat_object(at->name, out);
	if (at->kind == CLI_KIND_MEMBER)
		fd = open_store(at, O_PATH);
	else if (at->kind == CLI_KIND_PATH)
		fd = cli_at_open_index(at, O_PATH, NULL);
	if (fd < 0)
		return fd;
	err = fstat(fd, out) != 0 ? -errno : 0;
	if (fd != STDIN_FILENO)
		close(fd);
	return err;
}

static int stat_source(int fd, const struct b2f_frame *frame, struct stat *out)
{
	const struct b2f_frame_stamp stamp = b2f_frame_stamp_get(frame);

	if (fstat(fd, out) != 0)
		return -errno;
	return out->st_dev == stamp.dev && out->st_ino == stamp.ino ? 0
								   : -ESTALE;
}

int cli_frames_source(const struct cli_at *at, const struct b2f_frame *frame,
		      struct stat *out, int *fd)
{
	int file, err;

	*fd = -1;
	if (at->kind != CLI_KIND_PATH && at->kind != CLI_KIND_MEMBER)
		return cli_message_errno(at->path, cli_frames_stat(at, out));
	file = at->kind == CLI_KIND_PATH ? cli_at_open_index(at, O_RDONLY, NULL)
					 : open_store(at, O_RDONLY);
	err = file < 0 ? file : stat_source(file, frame, out);
	if (!err)
		*fd = file;
	else
		cli_at_close(file);
	return err == -ESTALE ? cli_message_changed(at->path)
			      : cli_message_errno(at->path, err);
}

bool cli_frames_is(const struct cli_at *at, const struct stat *st)
{
	struct stat now;

	return cli_frames_stat(at, &now) == 0 && cli_at_is_same(&now, st);
}

bool cli_frames_has_more(const struct b2f_frame *frame, const struct stat *st)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);

	return !info->sparse && (uint64_t)st->st_size != info->frame_len;
}

static int is_chunk(void *arg, int dir, const struct dirent *d)
{
	(void)arg;
	(void)dir;
	return b2f_part_of(d->d_name) == B2F_PART_CHUNK;
}

bool cli_frames_has_chunks(const struct cli_at *at)
{
	return b2f_directory_each(at->dir, at->name, is_chunk, NULL) > 0;
}

static void forget_file(int dir, const char *name)
{
	CLI_OWN_FD int fd = openat(
		dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static int forget_entry(void *arg, int dir, const struct dirent *d)
{
	(void)arg;
	forget_file(dir, d->d_name);
	return 0;
}

void cli_frames_forget_pages(const struct cli_at *at)
{
	if (b2f_directory_each(at->dir, at->name, forget_entry, NULL))
		forget_file(at->dir, at->name);
}

size_t cli_frames_nmetas(const struct b2f_frame *frame)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);

	return info->nmeta + info->nvlmeta;
}

int cli_frames_meta(const struct b2f_frame *frame, size_t i,
		    struct cli_meta *out)
{
	size_t nmeta = b2f_frame_info_get(frame)->nmeta;
	int err = 0;

	*out = (struct cli_meta){.is_vl = i >= nmeta};
	if (out->is_vl)
		err = b2f_frame_vlmeta(frame, i - nmeta, &out->info,
				       &out->decoded);
	else
		out->info = b2f_frame_meta(frame, i, &out->content);
	if (out->is_vl)
		out->content = out->decoded;
	return err;
}

int cli_frames_refuse_npy(const char *path, int err)
{
	return cli_refuse(err,
			  "%s: a .npy file cannot express the type of its "
			  "items (%s); --raw writes the items alone",
			  path, b2f_strerror(err));
}
