/* SPDX-License-Identifier: BSD-3-Clause */
/* cache_cell.c - a cell: cached bytes of 256 KiB of one object version */
#include "remote/cache_cell.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/cursor.h"

#define MAGIC	   "b2fcell1"
#define MAGIC_SIZE 8
#define SUM_END	   16

static bool is_text(struct b2f_cursor *cur, const char *text, size_t n)
{
	const uint8_t *p = b2f_cursor_take(cur, n);

	return p && memcmp(p, text, n) == 0;
}

static bool parse_version(struct b2f_cursor *cur, const char *name,
			  struct b2f_remote_stat *out)
{
	const uint8_t *etag;
	uint32_t n;

	out->size = b2f_cursor_le64(cur);
	out->mtime = (int64_t)b2f_cursor_le64(cur);
	n = b2f_cursor_le32(cur);
	if (n != strlen(name) || !is_text(cur, name, n))
		return false;
	n = b2f_cursor_le32(cur);
	etag = b2f_cursor_take(cur, n);
	if (!etag || n >= sizeof(out->etag))
		return false;
	memcpy(out->etag, etag, n);
	out->etag[n] = '\0';
	return out->size <= INT64_MAX;
}

static bool parse_extents(struct b2f_cursor *cur, struct b2f_cell *out)
{
	uint32_t before = 0;
	size_t sum = 0;

	out->nextents = b2f_cursor_le32(cur);
	if (out->nextents > B2F_CELL_EXTENTS_MAX)
		return false;
	for (uint32_t i = 0; i < out->nextents; i++) {
		struct b2f_cell_extent *e = &out->extents[i];

		e->begin = b2f_cursor_le32(cur);
		e->end = b2f_cursor_le32(cur);
		if (e->begin < before || e->end <= e->begin ||
		    e->end > B2F_CELL_SIZE)
			return false;
		before = e->end;
		sum += e->end - e->begin;
	}
	return sum == b2f_cursor_left(cur);
}

int b2f_cell_parse(const uint8_t *raw, size_t size, const char *name,
		   uint64_t number, struct b2f_cell *out)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, size);

	if (!is_text(&cur, MAGIC, MAGIC_SIZE) ||
	    b2f_cursor_le64(&cur) !=
		    XXH3_64bits(raw + b2f_min_u64(size, SUM_END),
				size - b2f_min_u64(size, SUM_END)) ||
	    b2f_cursor_le64(&cur) != number ||
	    !parse_version(&cur, name, &out->version) ||
	    !parse_extents(&cur, out))
		return B2F_ECORRUPT;
	out->bytes = b2f_cursor_take(&cur, b2f_cursor_left(&cur));
	return 0;
}

const uint8_t *b2f_cell_find(const struct b2f_cell *cell, uint32_t begin,
			     uint32_t end)
{
	const uint8_t *at = cell->bytes;

	for (uint32_t i = 0; i < cell->nextents; i++) {
		const struct b2f_cell_extent *e = &cell->extents[i];

		if (e->begin <= begin && end <= e->end)
			return at + (begin - e->begin);
		at += e->end - e->begin;
	}
	return NULL;
}

/* The extents of @old and [@begin, @end); if too many, only the range. */
static uint32_t join_extents(const struct b2f_cell *old, uint32_t begin,
			     uint32_t end, struct b2f_cell_extent *out)
{
	struct b2f_cell_extent added = {begin, end};
	uint32_t n = 0, i = 0;

	for (; i < old->nextents && old->extents[i].end < begin; i++)
		out[n++] = old->extents[i];
	for (; i < old->nextents && old->extents[i].begin <= end; i++) {
		if (old->extents[i].begin < added.begin)
			added.begin = old->extents[i].begin;
		if (old->extents[i].end > added.end)
			added.end = old->extents[i].end;
	}
	if (n + 1 + (old->nextents - i) > B2F_CELL_EXTENTS_MAX) {
		out[0] = (struct b2f_cell_extent){begin, end};
		return 1;
	}
	out[n++] = added;
	for (; i < old->nextents; i++)
		out[n++] = old->extents[i];
	return n;
}

/* Copies the bytes of @cell to their offsets in the whole cell @flat. */
static void lay_out(const struct b2f_cell *cell, uint8_t *flat)
{
	const uint8_t *at = cell->bytes;

	for (uint32_t i = 0; i < cell->nextents; i++) {
		uint32_t n = cell->extents[i].end - cell->extents[i].begin;

		memcpy(flat + cell->extents[i].begin, at, n);
		at += n;
	}
}

static uint8_t *put_u32(uint8_t *at, uint32_t v)
{
	b2f_store_le32(at, v);
	return at + 4;
}

static uint8_t *put_u64(uint8_t *at, uint64_t v)
{
	b2f_store_le64(at, v);
	return at + 8;
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
	size_t n = strlen(text);

	at = put_u32(at, (uint32_t)n);
	memcpy(at, text, n);
	return at + n;
}

/* Writes the file of the cell @new, with its bytes @flat; returns its size. */
static size_t write_cell(const struct b2f_cell_piece *piece,
			 const struct b2f_cell *new, const uint8_t *flat,
			 uint8_t *raw)
{
	uint8_t *at = raw + SUM_END;

	at = put_u64(at, piece->number);
	at = put_u64(at, piece->version->size);
	at = put_u64(at, (uint64_t)piece->version->mtime);
	at = put_text(at, piece->name);
	at = put_text(at, piece->version->etag);
	at = put_u32(at, new->nextents);
	for (uint32_t i = 0; i < new->nextents; i++) {
		at = put_u32(at, new->extents[i].begin);
		at = put_u32(at, new->extents[i].end);
	}
	for (uint32_t i = 0; i < new->nextents; i++) {
		uint32_t n = new->extents[i].end - new->extents[i].begin;

		memcpy(at, flat + new->extents[i].begin, n);
		at += n;
	}
	memcpy(raw, MAGIC, MAGIC_SIZE);
	(void)put_u64(raw + MAGIC_SIZE,
		      XXH3_64bits(raw + SUM_END,
				  (size_t)(at - raw) - SUM_END));
	return (size_t)(at - raw);
}

int b2f_cell_make(const struct b2f_cell *old, const struct b2f_cell_piece *piece,
		  uint8_t **out, size_t *size)
{
	static const struct b2f_cell nothing = {.nextents = 0};
	size_t room = B2F_CELL_SIZE + 64 + 8 * B2F_CELL_EXTENTS_MAX +
		      strlen(piece->name) + B2F_REMOTE_ETAG_SIZE;
	B2F_OWN uint8_t *flat = malloc(B2F_CELL_SIZE);
	uint8_t *raw = flat ? malloc(room) : NULL;
	struct b2f_cell new = {.nextents = 0};

	if (!raw)
		return -ENOMEM;
	if (!old)
		old = &nothing;
	lay_out(old, flat);
	memcpy(flat + piece->begin, piece->bytes, piece->n);
	new.nextents = join_extents(old, piece->begin,
				    piece->begin + piece->n, new.extents);
	*size = write_cell(piece, &new, flat, raw);
	*out = raw;
	return 0;
}
