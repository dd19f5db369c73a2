/* SPDX-License-Identifier: BSD-3-Clause */
/* compare.c - is a frame the same as another one? */
#include "cli/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/copy.h"
#include "cli/message.h"

static int differs(struct b2f_file *file)
{
	cli_message_error("%s: what was written reads back differently",
			  b2f_frame_label(b2f_file_frame(file)));
	return -EIO;
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
	const struct cli_copy all = {
		.file = a, .size = b2f_file_size(a), .progress = progress};
	int err = cli_copy_compare_file(&all, b);

	return err ? err : compare_metas(a, b);
}
