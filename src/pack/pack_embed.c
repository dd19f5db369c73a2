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
#include "base/unpack.h"
#include "frame/frame.h"
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
