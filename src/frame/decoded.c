/* SPDX-License-Identifier: BSD-3-Clause */
/* decoded.c - the decoded data of a frame as a store */
#include "frame/decoded.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/reserve.h"
#include "chunk/decoder.h"
#include "frame/frame_chunk.h"
#include "frame/frame_unit.h"

struct decoded {
	struct b2f_store base;
	struct b2f_frame *frame;
};

/* The rest of a read: the data from byte @off on. */
struct reading {
	struct b2f_frame *frame;
	struct b2f_decoder *dec;
	struct b2f_scratch unit;
	/* Counts @unit, and the decoded bytes. */
	struct b2f_reserved memory;
	uint64_t off;
	uint8_t *buf;
	size_t n;
};

static struct decoded *decoded_of(struct b2f_store *store)
{
	return (struct decoded *)store;
}

static int decoded_open(struct b2f_store *store, int64_t id,
			struct b2f_object *out, struct b2f_why *why)
{
	const struct b2f_frame *frame = decoded_of(store)->frame;

	(void)id;
	(void)why;
	*out = (struct b2f_object){
		.store = store,
		.size = frame->header.nbytes,
		.identity = frame->stamp,
		.fd = -1,
	};
	return 0;
}

/* Copies the wanted bytes of the unit that begins at byte @start. */
static int copy_unit(struct reading *r, const struct b2f_loaded *loaded,
		     uint32_t unit, uint64_t start)
{
	uint32_t size = b2f_chunk_unit_nbytes(&loaded->chunk, unit);
	size_t skip = (size_t)(r->off - start), n = size - skip;
	const struct b2f_unit_read read = {.frame = r->frame,
					   .loaded = loaded,
					   .dec = r->dec,
					   .unit = unit};
	int err = b2f_reserve_set(
		&r->memory, size + b2f_chunk_unit_beside(&loaded->chunk, unit));

	if (!err)
		err = b2f_scratch_reserve(&r->unit, size);
	if (!err)
		err = b2f_frame_decode_unit(&read, r->unit.data);
	if (err)
		return err;
	n = n < r->n ? n : r->n;
	memcpy(r->buf, r->unit.data + skip, n);
	r->buf += n;
	r->off += n;
	r->n -= n;
	return 0;
}

/* Reads the wanted bytes of the chunk that holds byte @r->off. */
static int read_chunk(struct reading *r)
{
	struct b2f_loaded *loaded = NULL;
	struct b2f_frame_span span;
	uint64_t start, before = r->off;
	int err = b2f_frame_locate(r->frame, r->off, &span);

	if (!err)
		err = b2f_frame_load(r->frame, span.nchunk, span.nbytes,
				     B2F_LOAD_HEAD, &loaded);
	if (err)
		return err;
	start = span.start;
	for (uint32_t i = 0; i < loaded->chunk.nunits && r->n && !err; i++) {
		uint64_t end = start + b2f_chunk_unit_nbytes(&loaded->chunk, i);

		if (r->off < end)
			err = copy_unit(r, loaded, i, start);
		start = end;
	}
	b2f_loaded_free(loaded);
	return !err && r->off == before ? B2F_ECORRUPT : err;
}

static int decoded_read(const struct b2f_object *object, uint64_t off,
			void *buf, size_t n, struct b2f_why *why)
{
	struct b2f_frame *frame = decoded_of(object->store)->frame;
	struct reading r = {.frame = frame,
			    .memory = {.of = frame->reserved.of},
			    .off = off,
			    .buf = buf,
			    .n = n};
	int err;

	if (!b2f_range_fits(off, n, frame->header.nbytes))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the data end at byte %llu",
				   (unsigned long long)frame->header.nbytes);
	err = b2f_decoder_new(&r.dec);
	while (!err && r.n > 0)
		err = read_chunk(&r);
	b2f_decoder_free(r.dec);
	b2f_scratch_trim(&r.unit, 0);
	b2f_reserve_give(&r.memory, r.memory.bytes);
	return err;
}

static int decoded_stat(struct b2f_store *store, int64_t id, struct stat *out)
{
	(void)id;
	return b2f_store_stat_index(decoded_of(store)->frame->store, out);
}

static void decoded_free(struct b2f_store *store)
{
	b2f_frame_close(decoded_of(store)->frame);
	free(store);
}

static int decoded_clone(struct b2f_store *store, struct b2f_store **out,
			 struct b2f_why *why)
{
	(void)why;
	return b2f_decoded_new(decoded_of(store)->frame, out);
}

static const struct b2f_store_ops decoded_ops = {
	.open = decoded_open,
	.read = decoded_read,
	.stat = decoded_stat,
	.free = decoded_free,
	.clone = decoded_clone,
};

int b2f_decoded_new(struct b2f_frame *frame, struct b2f_store **out)
{
	struct decoded *decoded = calloc(1, sizeof(*decoded));

	if (!decoded)
		return -ENOMEM;
	decoded->base.ops = &decoded_ops;
	decoded->frame = b2f_frame_ref(frame);
	*out = &decoded->base;
	return 0;
}
