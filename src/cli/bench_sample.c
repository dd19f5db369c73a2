/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_sample.c - a sample of a file, for bloscctl bench */
#include "cli/bench_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "b2frame/b2frame.h"
#include "cli/frames.h"
#include "cli/input.h"
#include "cli/message.h"

/* Bytes of a piece, some chunks. */
#define PIECE (UINT64_C(4) << 20)

/* Pieces begin at a multiple of it, where items of most sizes begin. */
#define GRID (UINT64_C(48) << 12)

/* The source: a plain file or a frame. */
struct source {
	const char *path;
	struct b2f_runtime *runtime;
	struct b2f_file *file;
	struct cli_input in;
	uint64_t size;
};

static ssize_t read_some(const struct source *s, void *buf, size_t n,
			 uint64_t off)
{
	ssize_t got;

	if (!s->file)
		return cli_input_read(&s->in, buf, n, off);
	got = b2f_file_pread(s->file, NULL, buf, n, off);
	return got < 0 ? cli_message_explain(s->path, (int)got) : got;
}

/* Reads [@off, @off + @n), or less if the file has become shorter. */
static int read_piece(const struct source *s, uint64_t off, uint64_t n,
		      struct cli_bench_sample *out)
{
	ssize_t got = read_some(s, out->data + out->size, (size_t)n, off);

	out->size += got > 0 ? (size_t)got : 0;
	return got < 0 ? (int)got : 0;
}

/* Reads pieces of equal size at equal distances. */
static int read_pieces(const struct source *s, uint64_t limit,
		       struct cli_bench_sample *out)
{
	uint64_t n = limit / PIECE > 1 ? limit / PIECE : 1, piece = limit / n;
	int err = 0;

	for (uint64_t i = 0; i < n && !err; i++) {
		uint64_t off = n > 1 ? (s->size - piece) / (n - 1) * i : 0;

		err = read_piece(s, off - off % GRID, piece, out);
	}
	return err;
}

static int open_source(struct source *s)
{
	const struct b2f_frame_options how = {.label = s->path};
	const struct cli_at at = cli_at_named(s->path);
	struct b2f_frame_peek peek;
	int err;

	if (at.kind != CLI_KIND_PATH ||
	    b2f_frame_peek(at.dir, at.name, &peek) || !peek.is_frame) {
		err = cli_input_open(&s->in, &at);
		s->size = s->in.size;
		return err;
	}
	err = cli_frames_runtime(0, &s->runtime);
	if (!err)
		err = cli_frames_open_file(s->runtime, &how, &at, &s->file);
	if (!err)
		s->size = b2f_file_size(s->file);
	return err;
}

static int read_source(const struct source *s, uint64_t limit,
		       struct cli_bench_sample *out)
{
	/* The size of a pipe, or of a file of /proc, is not known. */
	if (!s->file && s->size == 0)
		return read_piece(s, 0, limit, out);
	return s->size <= limit ? read_piece(s, 0, s->size, out)
				: read_pieces(s, limit, out);
}

/* Guess from the beginning: it may be the header of a .npy file. */
static int guess(const char *path, struct cli_bench_sample *out)
{
	struct b2f_settings settings = b2f_settings_default();
	int err;

	if (out->size == 0) {
		cli_message_error("%s: there are no data in it", path);
		return -ENODATA;
	}
	err = b2f_settings_guess(&settings, out->data, out->size);
	out->typesize = settings.typesize;
	return cli_message_errno(path, err);
}

static void close_source(struct source *s)
{
	b2f_file_close(s->file);
	b2f_runtime_free(s->runtime);
	cli_input_close(&s->in);
}

int cli_bench_sample_take(const char *path, uint64_t limit,
			  struct cli_bench_sample *out)
{
	struct cli_bench_sample sample = {0};
	struct source s = {.path = path, .in.fd = -1};
	int err = open_source(&s);

	if (!err && s.size > 0 && s.size < limit)
		limit = s.size;
	if (!err) {
		sample.data = malloc((size_t)limit);
		if (!sample.data)
			err = cli_message_errno(path, -ENOMEM);
	}
	if (!err)
		err = read_source(&s, limit, &sample);
	if (!err)
		err = guess(path, &sample);
	sample.total = s.size ? s.size : sample.size;
	close_source(&s);
	if (err)
		free(sample.data);
	else
		*out = sample;
	return err;
}
