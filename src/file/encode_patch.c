/* SPDX-License-Identifier: BSD-3-Clause */
/* encode_patch.c - encodes only the blocks with written pages */
#include <string.h>

#include "file/encode.h"
#include "file/reading.h"
#include "frame/frame_chunk.h"
#include "txn/chunk_write.h"

static void apply(void *arg, uint32_t off, uint32_t size, uint8_t *data)
{
	b2f_record_overlay(arg, off, size, data);
}

static enum b2f_patch_part part_of(void *arg, uint32_t off, uint32_t size)
{
	const struct b2f_record *rec = arg;
	uint32_t end = off + size, stop;
	bool all = true, none = true;

	for (uint32_t at = off; at < end && (all || none); at = stop) {
		stop = b2f_record_page_end(at, end);
		if (b2f_record_has(rec, at / B2F_PAGE))
			none = false;
		else
			all = false;
		if (stop > rec->base_limit)
			none = false;
	}
	if (none)
		return B2F_PATCH_NONE;
	return all ? B2F_PATCH_ALL : B2F_PATCH_SOME;
}

static int patch_loaded(struct b2f_record *rec, struct b2f_chunk_writer *cw,
			const struct b2f_loaded *base, bool *made,
			struct b2f_txn_chunk *out)
{
	struct b2f_runtime *rt = rec->file->runtime;
	struct b2f_patch patch = {
		.chunk = &base->chunk,
		.raw = base->bytes,
		.seal = &base->seal,
		.part = part_of,
		.apply = apply,
		.nbytes = rec->nbytes,
		.arg = rec,
	};
	int err = b2f_idle_get_decoder(&rt->idle, &patch.dec);

	if (err)
		return err;
	err = b2f_chunk_write_patch(cw, rec->nchunk, &patch, made, out);
	b2f_idle_put_decoder(&rt->idle, patch.dec);
	return err;
}

/* Does @rec keep bytes of an old chunk? */
static bool has_base(const struct b2f_record *rec)
{
	return rec->base_limit > 0 && b2f_txn_is_stored(rec->base_raw) &&
	       !b2f_record_is_full(rec, rec->nbytes);
}

/*
 * Loads the old chunk into *@out, or leaves *@out alone if that chunk cannot be
 * patched.  The head, likely in the table already, tells this without reading
 * the whole chunk.
 */
static int load_base(struct b2f_record *rec, struct b2f_chunk_writer *cw,
		     const struct b2f_reading *r, struct b2f_loaded **out)
{
	const struct b2f_source src = {
		.span = {.nchunk = rec->nchunk, .nbytes = rec->base_nbytes},
		.raw = rec->base_raw,
		.nbytes = rec->base_nbytes,
	};
	struct b2f_head *head = NULL;
	bool fits;
	int err = b2f_head_get(r->file, r->frame, &src, &head);

	if (err)
		return err;
	fits = b2f_chunk_write_may_patch(cw, &head->loaded->chunk,
					 rec->nbytes);
	b2f_head_put(head);
	if (!fits)
		return 0;
	return b2f_frame_load_entry(r->frame, rec->nchunk, rec->base_raw,
				    rec->base_nbytes, B2F_LOAD_ALL, out);
}

int b2f_encode_patch(struct b2f_record *rec, struct b2f_chunk_writer *cw,
		     bool *made, struct b2f_txn_chunk *out)
{
	struct b2f_loaded *base = NULL;
	struct b2f_reading r;
	int err;

	*made = false;
	if (!has_base(rec))
		return 0;
	/* The reading keeps the chunk file from being deleted. */
	b2f_reading_begin(rec->file, &r);
	err = load_base(rec, cw, &r, &base);
	b2f_reading_end(&r);
	/* The chunk and its seal are in memory: the file is not needed. */
	if (!err && base)
		err = patch_loaded(rec, cw, base, made, out);
	b2f_loaded_free(base);
	return err;
}
