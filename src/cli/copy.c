/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.c - the decoded data of a frame, to a file or for comparison */
#include "cli/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/error.h"
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

static bool same_info(const struct b2f_meta_info *a, const uint8_t *a_content,
		      const struct b2f_meta_info *b, const uint8_t *b_content)
{
	return a->name_len == b->name_len && a->size == b->size &&
	       memcmp(a->name, b->name, a->name_len) == 0 &&
	       memcmp(a_content, b_content, a->size) == 0;
}

static bool same_metas(const struct b2f_frame *a, const struct b2f_frame *b)
{
	size_t n = b2f_frame_info_get(a)->nmeta;
	bool same = n == b2f_frame_info_get(b)->nmeta;

	for (size_t i = 0; i < n && same; i++) {
		const uint8_t *x, *y;
		struct b2f_meta_info p = b2f_frame_meta(a, i, &x);
		struct b2f_meta_info q = b2f_frame_meta(b, i, &y);

		same = same_info(&p, x, &q, y);
	}
	return same;
}

static int compare_vlmeta(const struct b2f_frame *a, const struct b2f_frame *b,
			  size_t i, bool *same)
{
	struct b2f_meta_info p, q;
	B2F_OWN uint8_t *x = NULL;
	B2F_OWN uint8_t *y = NULL;
	int err;

	err = b2f_frame_vlmeta(a, i, &p, &x);
	if (!err)
		err = b2f_frame_vlmeta(b, i, &q, &y);
	if (!err)
		*same = same_info(&p, x, &q, y);
	return err;
}

static int compare_metas(struct b2f_file *a, struct b2f_file *b)
{
	const struct b2f_frame *fa = b2f_file_frame(a);
	const struct b2f_frame *fb = b2f_file_frame(b);
	size_t n = b2f_frame_info_get(fa)->nvlmeta;
	bool same = n == b2f_frame_info_get(fb)->nvlmeta && same_metas(fa, fb);
	int err = 0;

	for (size_t i = 0; i < n && same && !err; i++)
		err = compare_vlmeta(fa, fb, i, &same);
	if (err)
		return err;
	return same ? 0 : differs(b2f_frame_label(fb));
}

int cli_copy_compare_all(struct b2f_file *a, struct b2f_file *b,
			 struct cli_progress *progress)
{
	const struct cli_copy all = {
		.file = a, .size = b2f_file_size(a), .progress = progress};
	struct compare_arg with = {
		.name = b2f_frame_label(b2f_file_frame(b)), .file = b};
	int err = compare(&all, &with);

	return err ? err : compare_metas(a, b);
}
