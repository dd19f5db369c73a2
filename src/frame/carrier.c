/* SPDX-License-Identifier: BSD-3-Clause */
/* carrier.c - frames that are no row of plain bytes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/npy.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "frame/carrier.h"

/* A msgpack map of few entries, and a short text. */
#define IS_MAP(mark)  (((mark)&0xf0) == 0x80)
#define IS_TEXT(mark) (((mark)&0xe0) == 0xa0)

static const struct {
	const char *kind;
	const char *text;
} kinds[] = {
	{"lazyexpr", "a lazy expression"},
	{"lazyudf", "a lazy user-defined function"},
};

/* A ListArray also has the metalayer of its base, so it comes first. */
static const struct {
	const char *meta;
	const char *text;
} objects[] = {
	{"listarray", "a ListArray"},
	{"ctable_varlen_scalar", "a column of strings, bytes or objects"},
	{"batcharray", "a BatchArray"},
	{"vlarray", "an ObjectArray"},
	{"b2embed", "an EmbedStore"},
	{"b2dict", "the EmbedStore of a DictStore"},
	{"b2tree", "the EmbedStore of a TreeStore"},
};

const char *b2f_carrier_objects(const struct b2f_frame *f)
{
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		if (b2f_meta_find(&f->meta, objects[i].meta))
			return objects[i].text;
	return NULL;
}

/* Takes a short text; NULL: something else stands there. */
static const char *take_text(struct b2f_cursor *cur, size_t *len)
{
	uint8_t mark = b2f_cursor_u8(cur);

	*len = mark & 31;
	return IS_TEXT(mark) ? (const char *)b2f_cursor_take(cur, *len) : NULL;
}

static bool is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return true;
}

/* The metalayer of such an object begins {"kind": KIND. */
static void name_object(const struct b2f_meta *m, char text[B2F_CARRIER_SIZE])
{
	struct b2f_cursor cur = b2f_cursor_at(m->content, m->size);
	const char *key = NULL, *kind = NULL;
	size_t n;

	if (IS_MAP(b2f_cursor_u8(&cur)))
		key = take_text(&cur, &n);
	if (key && n == strlen("kind") && memcmp(key, "kind", n) == 0)
		kind = take_text(&cur, &n);
	snprintf(text, B2F_CARRIER_SIZE, "a lazy object");
	if (!kind || !is_printable(kind, n))
		return;
	snprintf(text, B2F_CARRIER_SIZE, "a lazy object (%.*s)", (int)n, kind);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].kind) == n &&
		    memcmp(kinds[i].kind, kind, n) == 0)
			snprintf(text, B2F_CARRIER_SIZE, "%s", kinds[i].text);
}

static bool has_bits(const uint8_t *map, size_t len, uint64_t nbits)
{
	if (len < nbits / 8 + (nbits % 8 > 0))
		return false;
	for (uint64_t i = 0; i < nbits; i++)
		if (!(map[i / 8] >> (i % 8) & 1))
			return false;
	return true;
}

/*
 * Are the first @nbits bits of the map in the vlmetalayer @name set?  Returns
 * 1, 0, -ENODATA (there is no such map) or -ENOMEM.
 */
static int is_all_fetched(const struct b2f_frame *f, const char *name,
			  uint64_t nbits)
{
	uint8_t *content = NULL;
	const uint8_t *map;
	size_t size = 0, len;
	int err;

	err = b2f_frame_vlmeta_find(f, name, &content, &size);
	if (!err)
		err = b2f_npy_unpack(content, size, &map, &len);
	if (!err)
		err = has_bits(map, len, nbits);
	free(content);
	/* A damaged map does not prove that all data are there. */
	return err < 0 && err != -ENOMEM && err != -ENODATA ? 0 : err;
}

/* Blocks of all chunks; a map of blocks has a bit for each. */
static uint64_t count_blocks(const struct b2f_frame *f)
{
	uint64_t per_chunk = 1;

	if (f->header.blocksize > 0 && f->header.chunksize > 0)
		per_chunk = ((uint64_t)f->header.chunksize +
			     f->header.blocksize - 1) /
			    f->header.blocksize;
	return per_chunk * f->entries.n;
}

/* Has the proxy @f all of its source?  Returns 1, 0 or -ENOMEM. */
static int is_complete(const struct b2f_frame *f)
{
	int all;

	/* A chunk that was never fetched, or has been dropped to save room. */
	for (uint64_t i = 0; f->entries.nspecial > 0 && i < f->entries.n; i++)
		if (b2f_entries_get(&f->entries, i).special ==
		    B2F_SPECIAL_UNINIT)
			return 0;
	/* The writer has not finished, or has died. */
	if (b2f_meta_find(&f->vlmeta, "proxy-dirty"))
		return 0;
	all = is_all_fetched(f, "proxy-fetched-blocks", count_blocks(f));
	if (all == -ENODATA)
		all = is_all_fetched(f, "proxy-fetched", f->entries.n);
	/* Without a map every chunk that is not special has been fetched. */
	return all == -ENODATA ? f->entries.nspecial == 0 : all;
}

int b2f_carrier_find(const struct b2f_frame *f, char text[B2F_CARRIER_SIZE])
{
	const struct b2f_meta *m = b2f_meta_find(&f->meta, "b2o");
	int all;

	text[0] = '\0';
	if (m) {
		name_object(m, text);
	} else if (b2f_meta_find(&f->meta, "LazyArray")) {
		snprintf(text, B2F_CARRIER_SIZE, "a lazy array");
	} else if (b2f_meta_find(&f->meta, "proxy-source")) {
		all = is_complete(f);
		if (all < 0)
			return all;
		if (!all)
			snprintf(text, B2F_CARRIER_SIZE,
				 "a proxy that has not fetched all its data");
	}
	return 0;
}
