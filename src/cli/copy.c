/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.c - the decoded data of a frame, to a file or for comparison */
#include "cli/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/error.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/need.h"
#include "programs/io.h"

/* Bytes that are read and written at once. */
#define STEP (UINT64_C(1) << 20)

/* Receives each piece of the data.  Returns 0 or a negative errno. */
typedef int piece_fn(void *arg, const void *data, size_t size);

/* A pass over a range, and the function to call for each piece. */
struct pass {
	const struct cli_copy *copy;
	struct b2f_stream *stream;
	/* Size of the file at the beginning. */
	uint64_t size;
	uint8_t *buf;
	piece_fn *piece;
	void *arg;
	/* Skips holes; NULL: they are read. */
	struct cli_output *sparse;
};

/*
 * The first read may wait for a program that changes the frame, and go on with
 * its version, as nothing has been passed on.  From then on all is of that
 * version, which has to be as long as the caller knows.
 */
static int keep_version(const struct pass *pass)
{
	struct b2f_file *file = pass->copy->file;

	b2f_file_stay(file);
	return b2f_file_size(file) == pass->size ? 0 : -ESTALE;
}

static int pass_init(struct pass *pass, const struct cli_copy *copy)
{
	int err;

	pass->copy = copy;
	pass->size = b2f_file_size(copy->file);
	/* The caller knows more of this version than its length. */
	if (copy->off || copy->head_len)
		b2f_file_stay(copy->file);
	err = b2f_stream_new(copy->file, &pass->stream);
	if (err)
		return cli_refuse(err, "%s", b2f_strerror(err));
	pass->buf = cli_need(malloc(STEP));
	return 0;
}

static void pass_fini(struct pass *pass)
{
	b2f_stream_free(pass->stream);
	free(pass->buf);
}

/* At most STEP, ending at a multiple of STEP, so that holes are found. */
static size_t step_size(uint64_t off, uint64_t end)
{
	uint64_t size = STEP - off % STEP;

	return (size_t)(size < end - off ? size : end - off);
}

static int read_step(struct pass *pass, uint64_t off, size_t size)
{
	struct b2f_file *file = pass->copy->file;
	ssize_t n = b2f_file_pread(file, pass->stream, pass->buf, size, off);

	if (n >= 0)
		n = (size_t)n == size ? keep_version(pass) : -ESTALE;
	return cli_message_explain(b2f_frame_label(b2f_file_frame(file)),
				   (int)n);
}

/* For a sparse output: moves *@off behind the hole that is there, if any. */
static int skip_hole(struct pass *pass, uint64_t *off, uint64_t end)
{
	struct b2f_file *file = pass->copy->file;
	int64_t data = b2f_file_seek_data(file, *off);
	int err;

	if (data == -ENXIO || data > (int64_t)end)
		data = (int64_t)end;
	err = data < 0 ? (int)data : keep_version(pass);
	if (err)
		return cli_message_explain(
			b2f_frame_label(b2f_file_frame(file)), err);
	pass->sparse->pos += (uint64_t)data - *off;
	*off = (uint64_t)data;
	return 0;
}

static int run_all(struct pass *pass)
{
	const struct cli_copy *copy = pass->copy;
	uint64_t off = copy->off, end = off + copy->size;
	int err = 0;

	if (copy->head_len)
		err = pass->piece(pass->arg, copy->head, copy->head_len);
	while (off < end && !err) {
		size_t size;

		if (pass->sparse)
			err = skip_hole(pass, &off, end);
		size = step_size(off, end);
		if (!err && size)
			err = read_step(pass, off, size);
		if (!err && size)
			err = pass->piece(pass->arg, pass->buf, size);
		off += size;
		if (!err && copy->progress)
			cli_progress_update(copy->progress, off - copy->off,
					    copy->size);
	}
	return err;
}

static int output_piece(void *arg, const void *data, size_t size)
{
	struct cli_output *out = arg;

	return cli_output_write(out, data, size);
}

int cli_copy_output(const struct cli_copy *copy, struct cli_output *out)
{
	struct pass pass = {.piece = output_piece,
			    .arg = out,
			    .sparse = out->sparse ? out : NULL};
	int err;

	err = pass_init(&pass, copy);
	if (err)
		return err;
	err = run_all(&pass);
	pass_fini(&pass);
	return err;
}

/* The plain file or frame that the pieces are compared with. */
struct compare_arg {
	const char *name;
	int fd;
	struct b2f_file *file;
	struct b2f_stream *stream;
	uint8_t *buf;
	/* Offset of the next piece. */
	uint64_t off;
};

static int cannot_compare(const struct compare_arg *with, int err)
{
	return cli_refuse(err, "%s: cannot be compared: %s", with->name,
			  b2f_strerror(err));
}

static ssize_t read_other(struct compare_arg *with, size_t size)
{
	ssize_t n;

	if (with->file)
		return b2f_file_pread(with->file, with->stream, with->buf, size,
				      with->off);
	n = b2f_io_read(with->fd, with->buf, size, (int64_t)with->off);
	return n < 0 ? cannot_compare(with, (int)n) : n;
}

static int differs(const char *name)
{
	return cli_refuse(-EIO, "%s: what was written reads back differently",
			  name);
}

/* @size 0: checks that this is the end. */
static int compare_piece(void *arg, const void *data, size_t size)
{
	struct compare_arg *with = arg;
	ssize_t n = read_other(with, size ? size : 1);

	if (n < 0)
		return cli_message_explain(with->name, (int)n);
	if ((size_t)n != size || (n && memcmp(data, with->buf, size) != 0))
		return differs(with->name);
	with->off += size;
	return 0;
}

static int compare(const struct cli_copy *copy, struct compare_arg *with)
{
	size_t room = copy->head_len > STEP ? copy->head_len : STEP;
	struct pass pass = {.piece = compare_piece, .arg = with};
	int err;

	err = pass_init(&pass, copy);
	if (err)
		return err;
	with->buf = cli_need(malloc(room));
	if (with->file)
		err = b2f_stream_new(with->file, &with->stream);
	if (err)
		cannot_compare(with, err);
	else
		err = run_all(&pass);
	if (!err)
		err = compare_piece(with, NULL, 0);
	b2f_stream_free(with->stream);
	free(with->buf);
	pass_fini(&pass);
	return err;
}

int cli_copy_compare_fd(const struct cli_copy *copy, int fd, uint64_t off,
			const char *name)
{
	struct compare_arg with = {.name = name, .fd = fd, .off = off};

	return compare(copy, &with);
}

static bool is_same(const struct cli_meta *x, const struct cli_meta *y)
{
	const struct b2f_meta_info *a = &x->info, *b = &y->info;

	return x->is_vl == y->is_vl && a->name_len == b->name_len &&
	       a->size == b->size &&
	       memcmp(a->name, b->name, a->name_len) == 0 &&
	       memcmp(x->content, y->content, a->size) == 0;
}

static int compare_metas(const struct b2f_frame *a, const struct b2f_frame *b)
{
	size_t n = cli_frames_nmetas(a);
	bool same = n == cli_frames_nmetas(b);
	int err = 0;

	for (size_t i = 0; i < n && same && !err; i++) {
		struct cli_meta x, y = {.decoded = NULL};

		err = cli_frames_meta(a, i, &x);
		if (!err)
			err = cli_frames_meta(b, i, &y);
		same = !err && is_same(&x, &y);
		free(x.decoded);
		free(y.decoded);
	}
	return err || same ? err : differs(b2f_frame_label(b));
}

int cli_copy_compare_all(struct b2f_file *a, struct b2f_file *b,
			 struct cli_progress *progress)
{
	const struct cli_copy all = {
		.file = a, .size = b2f_file_size(a), .progress = progress};
	struct compare_arg with = {
		.name = b2f_frame_label(b2f_file_frame(b)), .file = b};
	int err = compare(&all, &with);

	return err ? err : compare_metas(b2f_file_frame(a), b2f_file_frame(b));
}
