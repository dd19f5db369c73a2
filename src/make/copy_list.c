/* SPDX-License-Identifier: BSD-3-Clause */
/* copy_list.c - the chunks of a copy, and the index that names them */
#include "make/sink.h"

#include <stdlib.h>

#include "base/sorted.h"
#include "frame/frame_report.h"
#include "index/index_write.h"
#include "txn/txn.h"

static uint64_t count_stored(const struct b2f_entries *entries)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < entries->n; i++)
		n += b2f_txn_is_stored(b2f_entries_raw(entries, i));
	return n;
}

/* A sound frame names each chunk file once. */
static int check_numbers(const struct b2f_frame *frame,
			 const struct b2f_copy_list *list)
{
	for (size_t i = 1; i < list->n; i++)
		if (list->chunks[i].from == list->chunks[i - 1].from)
			return b2f_frame_report(
				frame, B2F_EUNSUPPORTED,
				&(const struct b2f_why){"its index names a "
							"chunk file twice"});
	return 0;
}

int b2f_copy_list_make(const struct b2f_frame *frame,
		       struct b2f_copy_list *list)
{
	const struct b2f_entries *entries = &frame->entries;
	uint64_t n = count_stored(entries);

	list->version = frame->stamp;
	list->chunks = calloc(n ? n : 1, sizeof(*list->chunks));
	if (!list->chunks)
		return -ENOMEM;
	for (uint64_t i = 0; i < entries->n; i++) {
		uint64_t raw = b2f_entries_raw(entries, i);

		if (b2f_txn_is_stored(raw))
			list->chunks[list->n++] = (struct b2f_copy_chunk){
				.nchunk = i,
				.raw = raw,
				.from = b2f_txn_chunk_id(raw)};
	}
	qsort(list->chunks, list->n, sizeof(*list->chunks), b2f_compare_u64);
	return check_numbers(frame, list);
}

void b2f_copy_list_fini(struct b2f_copy_list *list)
{
	free(list->chunks);
	*list = (struct b2f_copy_list){.n = 0};
}

struct b2f_copy_chunk *b2f_copy_find(const struct b2f_copy_list *list,
				     uint64_t from)
{
	return list->n ? bsearch(&from, list->chunks, list->n,
				 sizeof(*list->chunks), b2f_compare_u64)
		       : NULL;
}

/* Writes the entries, with the chunk ids of the target. */
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

/* Reads the index as it is stored. */
static int read_index(const struct b2f_frame *frame, uint8_t **out,
		      size_t *size)
{
	B2F_OWN_OBJECT struct b2f_object object = {.fd = -1};
	B2F_OWN uint8_t *bytes = NULL;
	struct b2f_why why = {""};
	int err = b2f_object_open(frame->store, B2F_OBJECT_INDEX, &object,
				  &why);

	if (!err && !b2f_frame_stamp_equal(&object.identity, &frame->stamp))
		err = b2f_why_set(&why, -ESTALE, "another program has changed "
						 "the frame meanwhile");
	if (!err) {
		*size = object.size;
		bytes = malloc(*size ? *size : 1);
		err = bytes ? b2f_object_read(&object, 0, bytes, *size, &why)
			    : -ENOMEM;
	}
	if (err)
		return b2f_frame_report(frame, err, &why);
	*out = bytes;
	bytes = NULL; /* now the caller's */
	return 0;
}

static bool keeps_numbers(const struct b2f_frame *frame,
			  const struct b2f_copy_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->chunks[i].to != list->chunks[i].from)
			return false;
	return !frame->blank;
}

/* Makes an index with the chunk ids of the target. */
static int make_index(const struct b2f_frame *frame,
		      const struct b2f_copy_list *list, uint8_t **out,
		      size_t *size)
{
	uint64_t n = frame->entries.n;
	B2F_OWN uint64_t *raw = malloc((n ? n : 1) * sizeof(*raw));
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
	return err ? b2f_frame_report(frame, err, &why) : 0;
}

int b2f_copy_index(const struct b2f_frame *frame,
		   const struct b2f_copy_list *list, uint8_t **out,
		   size_t *size)
{
	return keeps_numbers(frame, list)
		       ? read_index(frame, out, size)
		       : make_index(frame, list, out, size);
}
