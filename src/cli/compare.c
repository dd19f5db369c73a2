/* SPDX-License-Identifier: BSD-3-Clause */
/* compare.c - is a frame the same as another one? */
#include "cli/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"

/* Bytes that are compared at once. */
#define STEP (UINT64_C(1) << 20)

/* One of the two. */
struct side {
	struct b2f_file *file;
	struct b2f_stream *stream;
	uint8_t *buf;
};

static const char *label(struct b2f_file *file)
{
	return b2f_frame_label(b2f_file_frame(file));
}

static int differs(struct b2f_file *file)
{
	cli_message_error("%s: what was written reads back differently",
			  label(file));
	return -EIO;
}

static int side_init(struct side *side, struct b2f_file *file)
{
	int err;

	*side = (struct side){.file = file, .buf = malloc(STEP)};
	err = side->buf ? b2f_stream_new(file, &side->stream) : -ENOMEM;
	if (err)
		cli_message_error("%s: %s", label(file), strerror(-err));
	return err;
}

static void side_fini(struct side *side)
{
	b2f_stream_free(side->stream);
	free(side->buf);
}

static ssize_t side_read(struct side *side, uint64_t off)
{
	unsigned long errors = cli_message_errors();
	ssize_t n =
		b2f_file_pread(side->file, side->stream, side->buf, STEP, off);

	if (n < 0)
		cli_message_unless_said(errors, label(side->file), (int)n);
	return n;
}

static int compare_data(struct side *a, struct side *b,
			struct cli_progress *progress)
{
	uint64_t off = 0, size = b2f_file_size(a->file);

	if (b2f_file_size(b->file) != size)
		return differs(b->file);
	while (off < size) {
		ssize_t n = side_read(a, off), m;

		if (n < 0)
			return (int)n;
		m = side_read(b, off);
		if (m < 0)
			return (int)m;
		if (n <= 0 || n != m || memcmp(a->buf, b->buf, (size_t)n) != 0)
			return differs(b->file);
		off += (uint64_t)n;
		cli_progress_update(progress, off, size);
	}
	return 0;
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
	uint8_t *x = NULL, *y = NULL;
	int err;

	err = b2f_frame_vlmeta(a, i, &p, &x);
	if (!err)
		err = b2f_frame_vlmeta(b, i, &q, &y);
	if (!err)
		*same = same_info(&p, x, &q, y);
	free(x);
	free(y);
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
	return same ? 0 : differs(b);
}

int cli_compare_frames(struct b2f_file *a, struct b2f_file *b,
		       struct cli_progress *progress)
{
	struct side x = {0}, y = {0};
	int err;

	err = side_init(&x, a);
	if (!err)
		err = side_init(&y, b);
	if (!err)
		err = compare_data(&x, &y, progress);
	if (!err)
		err = compare_metas(a, b);
	side_fini(&x);
	side_fini(&y);
	return err;
}
