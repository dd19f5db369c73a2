/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_unit.c - one unit of a chunk: its stored bytes, checked and decoded */
#include "frame/frame_unit.h"

#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"
#include "base/checked.h"
#include "blp/blp_store.h"
#include "frame/frame_chunk.h"
#include "frame/frame_report.h"
#include "frame/frame_still.h"

/* Several reads cost about as much as so many more bytes. */
#define EXCERPT_GAIN (128u << 10)

int b2f_frame_open_object(const struct b2f_frame *frame,
			  const struct b2f_loaded *loaded,
			  struct b2f_object *out)
{
	if (!frame->store->ops->look)
		return -EOPNOTSUPP;
	return b2f_object_open(frame->store, loaded->object, out, NULL);
}

/* Is the head of @loaded still in the store, byte by byte? */
static int same_head(const struct b2f_loaded *loaded,
		     const struct b2f_object *object, bool *same,
		     struct b2f_why *why)
{
	uint8_t now[1024];
	int err = 0;

	*same = true;
	for (size_t off = 0; off < loaded->size && *same && !err;
	     off += sizeof(now)) {
		size_t n = b2f_min_u64(sizeof(now), loaded->size - off);

		err = b2f_object_read(object, off, now, n, why);
		*same = !err && !memcmp(now, loaded->bytes + off, n);
	}
	return err;
}

/*
 * Blosc2 rewrites chunks in place, and blocks of the new chunk must not be
 * decoded with the head of the old one.  A chunk file that was written to is
 * another chunk.  The one file of a contiguous frame is written to for every
 * chunk, and a ctime also changes with mode and links; so then the head itself
 * is compared.
 */
static int check_same(const struct b2f_unit_read *r,
		      const struct b2f_object *object,
		      const struct b2f_frame_stamp *now, struct b2f_why *why)
{
	const struct b2f_frame_stamp *then = &r->loaded->identity;
	bool written = !b2f_frame_stamp_same_data(then, now, false);
	bool same = false;
	int err = 0;

	if (!written && then->ctime_ns == now->ctime_ns)
		return 0;
	if (!written || !r->frame->header.sparse)
		err = same_head(r->loaded, object, &same, why);
	if (!err && !same)
		err = b2f_why_set(why, -ESTALE,
				  "rewritten by another program while the "
				  "file is open");
	return err;
}

/*
 * Is the open @object still the one whose head was read? A sealed chunk is
 * checked only if its stored bytes do not agree with the seal.
 */
static int check_open(const struct b2f_unit_read *r,
		      const struct b2f_object *object, struct b2f_why *why)
{
	struct b2f_frame_stamp now;
	int err = b2f_object_look(object, &now);

	/* The object was opened for this one read. */
	if (err == -EOPNOTSUPP) {
		now = object->identity;
		err = 0;
	}
	if (err)
		return b2f_why_set(why, err, "stat: %s", b2f_strerror(err));
	return check_same(r, object, &now, why);
}

/* Reads, then checks: an object unchanged after the read was so during it. */
static int read_from(const struct b2f_unit_read *r,
		     const struct b2f_object *object, uint32_t off,
		     uint32_t size, struct b2f_why *why)
{
	int err = b2f_object_read(object, off, r->dec->stored.data, size, why);

	if (err || (r->object && r->loaded->seal.sums))
		return err;
	return check_open(r, object, why);
}

static int read_by_name(const struct b2f_unit_read *r, uint32_t off,
			uint32_t size, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	int err = b2f_object_open(r->frame->store, r->loaded->object, &object,
				  why);

	if (!err)
		err = read_from(r, &object, off, size, why);
	b2f_object_close(&object);
	return err;
}

/* The @size stored bytes at @off of the chunk: in memory, or read now. */
static int get_stored(const struct b2f_unit_read *r, uint32_t off,
		      uint32_t size, const uint8_t **out, struct b2f_why *why)
{
	int err;

	if (size == 0) {
		*out = NULL;
		return 0;
	}
	if (b2f_range_fits(off, size, r->loaded->size)) {
		*out = r->loaded->bytes + off;
		return 0;
	}
	if (r->rest && off >= r->loaded->size &&
	    b2f_range_fits(off, size, r->loaded->chunk.header.cbytes)) {
		*out = r->rest + (off - r->loaded->size);
		return 0;
	}
	err = b2f_scratch_reserve(&r->dec->stored, size);
	if (!err)
		err = r->object ? read_from(r, r->object, off, size, why)
				: read_by_name(r, off, size, why);
	/* The head was the same before, but perhaps not any more. */
	if (!err)
		err = b2f_frame_check_still(r->frame, r->loaded, 0, why);
	if (!err)
		*out = r->dec->stored.data;
	return err;
}

int b2f_frame_read_rest(const struct b2f_unit_read *read)
{
	const struct b2f_loaded *l = read->loaded;
	uint32_t off = (uint32_t)l->size;
	uint32_t size = l->chunk.header.cbytes - off;
	int err = b2f_scratch_reserve(&read->dec->stored, size);

	if (!err)
		err = read_from(read, read->object, off, size, NULL);
	return err ? err : b2f_frame_check_still(read->frame, l, 0, NULL);
}

/*
 * The same with a checksum of the whole chunk, for which all of it is read,
 * even the head that is in memory.
 */
static int get_summed(const struct b2f_unit_read *r, uint32_t off,
		      uint32_t size, const uint8_t **out, struct b2f_why *why)
{
	const struct b2f_loaded *l = r->loaded;
	uint32_t cbytes = l->chunk.header.cbytes;
	struct b2f_object opened = {.fd = -1};
	const struct b2f_object *object = r->object ? r->object : &opened;
	const uint8_t *all = NULL;
	int err = get_stored(r, 0, cbytes, &all, why);

	if (!err && memcmp(all, l->bytes, l->size) != 0)
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "its head has changed");
	if (!err && !r->object)
		err = b2f_object_open(r->frame->store, l->object, &opened, why);
	if (!err)
		err = b2f_blp_check_chunk(object, cbytes, all, why);
	b2f_object_close(&opened);
	if (!err)
		*out = size && b2f_range_fits(off, size, cbytes) ? all + off
								 : NULL;
	return err;
}

static int decode_range(const struct b2f_unit_read *r, uint32_t off,
			uint32_t size, uint8_t *dst, struct b2f_why *why)
{
	const struct b2f_loaded *l = r->loaded;
	struct b2f_stored_unit stored = {
		.unit = r->unit, .size = size, .ref = r->ref};
	int err;

	if (r->frame->context.whole && !b2f_loaded_is_whole(l))
		err = get_summed(r, off, size, &stored.data, why);
	else
		err = get_stored(r, off, size, &stored.data, why);
	if (!err)
		err = b2f_seal_check_unit(&l->seal, &l->chunk, &stored, why);
	if (!err)
		err = b2f_chunk_decode_unit(&l->chunk, r->dec, &stored, dst,
					    why);
	return err;
}

static int decode_unit(const struct b2f_unit_read *r, uint8_t *dst,
		       struct b2f_why *why)
{
	const struct b2f_chunk *chunk = &r->loaded->chunk;
	uint32_t off = 0, size = 0, reach;
	int err = b2f_chunk_unit_extent(chunk, r->unit, &off, &size, why);

	if (err)
		return err;
	err = decode_range(r, off, size, dst, why);
	if (err != B2F_ECORRUPT || chunk->layout != B2F_CHUNK_BLOCKS)
		return err;
	/* Blocks may overlap; a reader of the whole chunk would not notice. */
	reach = b2f_chunk_unit_reach(chunk, r->unit, off);
	if (reach > size)
		err = decode_range(r, off, reach, dst, why);
	return err;
}

/* Decodes unit 0 where later units of a delta chunk find it. */
static int decode_ref(struct b2f_unit_read *r, struct b2f_why *why)
{
	struct b2f_unit_read first = *r;
	int err;

	first.unit = 0;
	err = b2f_scratch_reserve(&r->dec->ref,
				  b2f_chunk_unit_nbytes(&r->loaded->chunk, 0));
	if (!err)
		err = decode_unit(&first, r->dec->ref.data, why);
	if (!err)
		r->ref = r->dec->ref.data;
	return err;
}

/* Are the damaged bytes (@err) of another version of the chunk or frame? */
static bool is_stale(const struct b2f_unit_read *r, int err,
		     struct b2f_why *why)
{
	if (b2f_loaded_is_whole(r->loaded))
		return false;
	if (r->object && check_open(r, r->object, why) == -ESTALE)
		return true;
	return b2f_frame_check_still(r->frame, r->loaded, err, why) ==
	       -ESTALE;
}

static int decode_once(const struct b2f_unit_read *read, uint8_t *dst,
		       struct b2f_why *why)
{
	struct b2f_unit_read r = *read;
	int err = 0;

	if (r.unit > 0 && !r.ref && b2f_chunk_needs_ref(&r.loaded->chunk))
		err = decode_ref(&r, why);
	return err ? err : decode_unit(&r, dst, why);
}

/* Loads the chunk again, and decodes the unit of it. */
static int decode_again(const struct b2f_unit_read *read, uint8_t *dst,
			struct b2f_why *why)
{
	const struct b2f_loaded *l = read->loaded;
	struct b2f_unit_read r = {
		.frame = read->frame, .dec = read->dec, .unit = read->unit};
	struct b2f_loaded *now = NULL;
	int err = b2f_frame_load_entry(r.frame, l->nchunk, l->raw,
				       l->chunk.header.nbytes, B2F_LOAD_ALL,
				       &now);

	*why = (struct b2f_why){""};
	r.loaded = now;
	if (!err)
		err = decode_once(&r, dst, why);
	b2f_loaded_free(now);
	return err;
}

int b2f_frame_decode_unit(const struct b2f_unit_read *read, uint8_t *dst)
{
	const struct b2f_loaded *l = read->loaded;
	const struct b2f_unit_read r = *read;
	struct b2f_why why = {""}, stale;
	int err = decode_once(&r, dst, &why);

	if (err == B2F_ECORRUPT && b2f_frame_distrust(r.frame, l->raw))
		err = decode_again(&r, dst, &why);
	if (err == B2F_ECORRUPT && is_stale(&r, err, &stale)) {
		err = -ESTALE;
		why = stale;
	}
	if (err)
		b2f_frame_report_entry(r.frame, l->nchunk, l->raw,
				       l->chunk.nunits > 1 ? (int64_t)r.unit
							   : -1,
				       err, &why);
	return err;
}

/* Is reading @e alone faster than reading all of its unit? */
static bool is_worth(const struct b2f_chunk *chunk, const struct b2f_excerpt *e)
{
	uint64_t left_out = (chunk->unit_size - e->size) /
			    chunk->header.typesize * (uint64_t)e->nplain;

	return left_out >= EXCERPT_GAIN;
}

bool b2f_frame_plan_excerpt(const struct b2f_frame *frame,
			    const struct b2f_loaded *loaded,
			    struct b2f_excerpt *e)
{
	return !loaded->seal.sums && !b2f_frame_is_far(frame) &&
	       !b2f_loaded_is_whole(loaded) &&
	       b2f_excerpt_plan(&loaded->chunk, e) &&
	       is_worth(&loaded->chunk, e);
}

/* Reads the stored bytes of @e to their places in a buffer for all of them. */
static int read_excerpt(const struct b2f_unit_read *r,
			const struct b2f_excerpt *e)
{
	struct b2f_excerpt_range ranges[B2F_EXCERPT_RANGES_MAX];
	size_t n = b2f_excerpt_ranges(&r->loaded->chunk, e, ranges);
	int err = b2f_scratch_reserve(&r->dec->stored, e->stored_size);

	/* All at the same time: one after the other would take longer. */
	for (size_t i = 0; i < n; i++)
		b2f_object_expect(r->object, e->stored_off + ranges[i].off,
				  ranges[i].size);
	for (size_t i = 0; i < n && !err; i++)
		err = b2f_object_read(r->object,
				      e->stored_off + (uint64_t)ranges[i].off,
				      r->dec->stored.data + ranges[i].off,
				      ranges[i].size, NULL);
	if (!err)
		err = check_open(r, r->object, NULL);
	return err ? err : b2f_frame_check_still(r->frame, r->loaded, 0, NULL);
}

int b2f_frame_decode_excerpt(const struct b2f_unit_read *read,
			     struct b2f_excerpt *e, uint8_t *dst)
{
	const struct b2f_chunk *chunk = &read->loaded->chunk;
	int err;

	/* Each round has fewer streams that should be stored as they are. */
	do {
		err = read_excerpt(read, e);
		if (!err)
			err = b2f_excerpt_decode(chunk, read->dec, e,
						 read->dec->stored.data, dst);
	} while (err == 1 && is_worth(chunk, e));
	return err == 1 ? -EDOM : err;
}

int b2f_frame_decode_whole(struct b2f_frame *frame,
			   const struct b2f_loaded *loaded,
			   struct b2f_decoder *dec, uint8_t *buf)
{
	const struct b2f_chunk *chunk = &loaded->chunk;
	/* Without @buf, units are in one place, but one that others need. */
	size_t size = chunk->nunits ? b2f_chunk_unit_nbytes(chunk, 0) : 0;
	size_t kept = b2f_chunk_needs_ref(chunk) ? size : 0;
	B2F_OWN uint8_t *own = buf ? NULL : malloc(kept + size + 1);
	uint8_t *to = buf ? buf : own;
	int err = to ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < chunk->nunits && !err; i++) {
		const struct b2f_unit_read read = {.frame = frame,
						   .loaded = loaded,
						   .dec = dec,
						   .ref = i ? to : NULL,
						   .unit = i};
		size_t at = buf ? (size_t)i * chunk->unit_size : kept * !!i;

		err = b2f_frame_decode_unit(&read, to + at);
	}
	return err;
}

int b2f_frame_load_sound(struct b2f_frame *frame, uint64_t nchunk, uint64_t raw,
			 uint64_t nbytes, struct b2f_decoder *dec,
			 struct b2f_loaded **out)
{
	struct b2f_loaded *loaded = NULL;
	int err = b2f_frame_load_entry(frame, nchunk, raw, nbytes, B2F_LOAD_ALL,
				       &loaded);

	/* A special chunk needs no decoding. */
	if (!err && dec && loaded->chunk.layout != B2F_CHUNK_SPECIAL)
		err = b2f_frame_decode_whole(frame, loaded, dec, NULL);
	if (err)
		b2f_loaded_free(loaded);
	else
		*out = loaded;
	return err;
}
