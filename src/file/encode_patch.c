/* SPDX-License-Identifier: BSD-3-Clause */
/* encode_patch.c - a record of some written pages changes some blocks */
#include <string.h>

#include "base/checked.h"
#include "file/encode.h"
#include "file/reading.h"
#include "file/writer.h"
#include "frame/chunk_write.h"

static void apply(void *arg, uint32_t off, uint32_t size, uint8_t *data)
{
	b2f_record_overlay(arg, off, size, data);
}

static enum b2f_patch_part part_of(void *arg, uint32_t off, uint32_t size)
{
	const struct b2f_record *d = arg;
	uint32_t end = off + size, stop;
	bool all = true, none = true;

	for (uint32_t at = off; at < end && (all || none); at = stop) {
		stop = b2f_record_page_end(at, end);
		if (b2f_record_has(d, at / B2F_PAGE))
			none = false;
		else
			all = false;
		if (stop > d->base_limit)
			none = false;
	}
	if (none)
		return B2F_PATCH_NONE;
	return all ? B2F_PATCH_ALL : B2F_PATCH_SOME;
}

static int patch_loaded(struct b2f_record *d, struct b2f_chunk_writer *cw,
			const struct b2f_loaded *base, bool *made,
			struct b2f_edit_chunk *out)
{
	struct b2f_runtime *rt = d->file->runtime;
	struct b2f_patch patch = {
		.chunk = &base->chunk,
		.raw = base->bytes,
		.seal = &base->seal,
		.part = part_of,
		.apply = apply,
		.arg = d,
	};
	int err;

	err = b2f_idle_get_decoder(&rt->idle, &patch.dec);
	if (err)
		return err;
	err = b2f_chunk_write_patch(cw, d->nchunk, &patch, made, out);
	b2f_idle_put_decoder(&rt->idle, patch.dec);
	return err;
}

/* True if there is a chunk before that only has to be changed. */
static bool has_base(const struct b2f_record *d)
{
	return d->base_limit > 0 && d->base_nbytes == d->nbytes &&
	       b2f_edit_is_stored(d->base_raw) &&
	       !b2f_record_is_full(d, d->nbytes);
}

/*
 * Loads the chunk before in *@out, if it is one that fits; else NULL.  Its head
 * is likely to be known: those that do not fit are not read twice.
 */
static int load_base(struct b2f_record *d, struct b2f_chunk_writer *cw,
		     const struct b2f_reading *r, struct b2f_loaded **out)
{
	const struct b2f_source src = {
		.span = {.nchunk = d->nchunk, .nbytes = d->nbytes},
		.raw = d->base_raw,
		.nbytes = d->nbytes,
	};
	struct b2f_head *head;
	bool fits;
	int err;

	err = b2f_head_get(r, &src, &head);
	if (err)
		return err;
	fits = b2f_chunk_write_may_patch(cw, &head->loaded->chunk);
	b2f_head_put(head);
	if (!fits)
		return 0;
	return b2f_frame_load_entry(r->frame, d->nchunk, d->base_raw, d->nbytes,
				    B2F_LOAD_ALL, out);
}

int b2f_encode_patch(struct b2f_record *d, struct b2f_chunk_writer *cw,
		     bool *made, struct b2f_edit_chunk *out)
{
	struct b2f_loaded *base = NULL;
	struct b2f_reading r;
	int err;

	*made = false;
	if (!has_base(d))
		return 0;
	/* As every reader of chunk files, so that it is not deleted. */
	b2f_reading_begin(d->file, &r);
	err = load_base(d, cw, &r, &base);
	b2f_reading_end(&r);
	/* Now it is all in memory, chunk and seal. */
	if (!err && base)
		err = patch_loaded(d, cw, base, made, out);
	b2f_loaded_free(base);
	return err;
}
