/* SPDX-License-Identifier: BSD-3-Clause */
/* copy_target.c - the chunks of a copy, and the index that names them */
#include "frame/copy_target.h"

#include <stdlib.h>

#include "frame/frame_report.h"
#include "frame/txn_count.h"
#include "index/index_write.h"

int b2f_copy_by_number(const void *a, const void *b)
{
	const struct b2f_copy_chunk *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

struct b2f_copy_chunk *b2f_copy_find(const struct b2f_copy_list *list,
				     uint64_t from)
{
	const struct b2f_copy_chunk key = {.from = from};

	return list->n ? bsearch(&key, list->chunks, list->n, sizeof(key),
				 b2f_copy_by_number)
		       : NULL;
}

/* The entries, with the numbers that chunks have at the target. */
static void number_entries(const struct b2f_frame *frame,
			   const struct b2f_copy_list *list, uint64_t *raw)
{
	for (uint64_t i = 0; i < frame->entries.n; i++)
		raw[i] = b2f_entries_raw(&frame->entries, i);
	for (size_t i = 0; i < list->n; i++) {
		const struct b2f_copy_chunk *chunk = &list->chunks[i];

		raw[chunk->nchunk] = (chunk->raw & ~B2F_ENTRY_ID) | chunk->to;
	}
}

int b2f_copy_index(const struct b2f_frame *frame,
		   const struct b2f_copy_list *list, uint8_t **out,
		   size_t *size)
{
	uint64_t n = frame->entries.n;
	uint64_t *raw = malloc((n ? n : 1) * sizeof(*raw));
	struct b2f_index_parts parts = {
		.header = frame->header,
		.header_bytes = frame->header_bytes,
		.entries = raw,
		.nentries = n,
		.trailer_bytes = frame->trailer_bytes,
		.trailer_len = frame->trailer_len,
	};
	struct b2f_why why = {""};
	int err;

	if (!raw)
		return -ENOMEM;
	number_entries(frame, list, raw);
	parts.sealed = b2f_frame_may_seal(frame, raw, n);
	parts.header.cbytes = b2f_txn_told_cbytes(frame);
	err = b2f_index_write(&parts, out, size, &why);
	free(raw);
	return err ? b2f_frame_report(frame, err, &why) : 0;
}
