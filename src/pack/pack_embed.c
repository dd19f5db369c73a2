/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_embed.c - the frames in an EmbedStore
 *
 * The vlmetalayer estore_metadata is a map
 *
 *   {"embed_map": {KEY: {"offset": N, "length": N}, ...}, "current_offset": N}
 *
 * of the frames, with their ranges in the decoded data.  An entry of a remote
 * array has "urlbase" and "path" instead.  Keys are paths that begin with a
 * slash; one may be the beginning of another.  Leaves get a suffix, which is
 * shown only if a directory has the same name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/reserve.h"
#include "base/unpack.h"
#include "frame/frame.h"
#include "frame/frame_chunk.h"
#include "frame/frame_unit.h"
#include "pack/pack.h"
#include "store/zip.h"

#define META	 "estore_metadata"
#define SUFFIX	 ".b2frame"
#define KEY_MAX	 2000

/* An entry of the map. */
struct place {
	uint64_t off;
	uint64_t size;
	bool remote;
};

bool b2f_embed_is(const struct b2f_frame *frame)
{
	return b2f_meta_find(&frame->meta, "b2embed") ||
	       b2f_meta_find(&frame->meta, "b2dict") ||
	       b2f_meta_find(&frame->meta, "b2tree");
}

static int corrupt(struct b2f_why *why, const char *text)
{
	return b2f_why_set(why, B2F_ECORRUPT, "vlmetalayer " META ": %s", text);
}

static bool is_text(const char *a, size_t len, const char *b)
{
	return len == strlen(b) && memcmp(a, b, len) == 0;
}

static struct place take_place(struct b2f_cursor *cur)
{
	struct place place = {0};
	uint32_t n = b2f_unpack_map(cur);
	size_t len;

	for (uint32_t i = 0; i < n && b2f_cursor_ok(cur); i++) {
		const char *key = b2f_unpack_text(cur, &len);

		if (key && is_text(key, len, "offset")) {
			place.off = b2f_unpack_uint(cur);
		} else if (key && is_text(key, len, "length")) {
			place.size = b2f_unpack_uint(cur);
		} else {
			place.remote |= key && is_text(key, len, "urlbase");
			b2f_unpack_skip(cur, 1);
		}
	}
	return place;
}

/* Can all parts of the path @key be names of files? */
static bool is_good_key(const char *key, size_t len)
{
	size_t part = 0;

	if (len < 2 || len > KEY_MAX || key[0] != '/' || memchr(key, 0, len))
		return false;
	for (size_t i = 1; i <= len; i++) {
		const char *begin = key + i - part;

		if (i < len && key[i] != '/') {
			part++;
			continue;
		}
		if (part == 0 || part > B2F_ZIP_NAME_MAX - strlen(SUFFIX) ||
		    is_text(begin, part, ".") || is_text(begin, part, ".."))
			return false;
		part = 0;
	}
	return true;
}

/* An EmbedStore whose leaves are being collected. */
struct embed {
	struct b2f_frame *frame;
	struct b2f_store *source;
	/* The beginning of their paths. */
	const char *prefix;
	struct b2f_leaves *out;
	struct b2f_why *why;
};

static int add_leaf(const struct embed *e, const char *key, size_t len,
		    const struct place *place)
{
	struct b2f_leaf leaf = {
		.member = {.source = e->source,
			   .off = place->off,
			   .size = place->size},
		/* To look, a block may have to be decoded for each of them. */
		.is_frame = !place->remote,
		.refused = place->remote ? "it refers to an array on another "
					   "computer"
					 : NULL,
	};

	if (!is_good_key(key, len))
		return corrupt(e->why, "a key that cannot be a file name");
	if (!b2f_range_fits(place->off, place->size, e->frame->header.nbytes))
		return corrupt(e->why, "a frame outside of the data");
	if (asprintf(&leaf.path, "%s%.*s" SUFFIX, e->prefix, (int)len - 1,
		     key + 1) < 0)
		return -ENOMEM;
	return b2f_leaves_add(e->out, &leaf, e->why);
}

static int take_map(const struct embed *e, struct b2f_cursor *cur)
{
	uint32_t n = b2f_unpack_map(cur);
	struct place place;
	size_t len;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		const char *key = b2f_unpack_text(cur, &len);

		place = take_place(cur);
		if (!b2f_cursor_ok(cur))
			return corrupt(e->why, "it is damaged");
		err = add_leaf(e, key, len, &place);
	}
	return err;
}

static int parse(const struct embed *e, const uint8_t *raw, size_t size)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, size);
	uint32_t n = b2f_unpack_map(&cur);
	size_t len;
	int err = 0;

	for (uint32_t i = 0; i < n && b2f_cursor_ok(&cur) && !err; i++) {
		const char *key = b2f_unpack_text(&cur, &len);

		if (key && is_text(key, len, "embed_map"))
			err = take_map(e, &cur);
		else
			b2f_unpack_skip(&cur, 1);
	}
	if (!err && !b2f_cursor_ok(&cur))
		err = corrupt(e->why, "it is damaged");
	return err;
}

int b2f_embed_add(struct b2f_frame *frame, struct b2f_store *source,
		  const char *prefix, struct b2f_leaves *out,
		  struct b2f_why *why)
{
	const struct embed embed = {frame, source, prefix, out, why};
	B2F_OWN uint8_t *content = NULL;
	size_t size = 0;
	int err = b2f_frame_vlmeta_find(frame, META, &content, &size);

	if (!err)
		err = parse(&embed, content, size);
	/* -ENODATA: no frame was put in. */
	return err == -ENODATA ? 0 : err;
}

/* The decoded data of a frame as a store. */
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
	return b2f_embed_store(decoded_of(store)->frame, out);
}

static const struct b2f_store_ops decoded_ops = {
	.open = decoded_open,
	.read = decoded_read,
	.stat = decoded_stat,
	.free = decoded_free,
	.clone = decoded_clone,
};

int b2f_embed_store(struct b2f_frame *frame, struct b2f_store **out)
{
	struct decoded *decoded = calloc(1, sizeof(*decoded));

	if (!decoded)
		return -ENOMEM;
	decoded->base.ops = &decoded_ops;
	decoded->frame = b2f_frame_ref(frame);
	*out = &decoded->base;
	return 0;
}
