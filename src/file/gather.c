/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather.c - a range of an array in C order, copied out of its blocks
 *
 * The range is cut into cells (array/array_cells.h), which the workers copy at
 * the same time; each block is decoded once for all its items in the range.
 */
#include "file/gather.h"

#include <string.h>

#include "base/checked.h"
#include "file/record.h"

/* Decoded bytes of one chunk that follow each other, while they are used. */
struct segment {
	const struct b2f_reading *reading;
	/* Positions in the stored data. */
	uint64_t start;
	uint64_t end;
	/* At @start; NULL: zeros. */
	const uint8_t *data;
	/* Owner of the bytes: a record, or a unit in the cache and its head. */
	struct b2f_record *record;
	struct b2f_cache_ref ref;
	struct b2f_head *head;
};

static void segment_drop(struct segment *s)
{
	b2f_cache_put(s->reading->file->runtime->cache, &s->ref);
	b2f_record_unref(s->record);
	s->record = NULL;
	s->data = NULL;
	s->start = s->end = 0;
}

static void segment_fini(struct segment *s)
{
	segment_drop(s);
	b2f_head_put(s->head);
	s->head = NULL;
}

/* Pins the unit that position @off of the chunk @src is in. */
static int pin_unit(struct segment *s, const struct b2f_source *src,
		    uint64_t off)
{
	uint32_t in = (uint32_t)(off - src->span.start);
	const struct b2f_chunk *chunk;
	uint32_t unit, from;
	int err = b2f_head_get(s->reading->file, s->reading->frame, src,
			       &s->head);

	if (err)
		return err;
	chunk = &s->head->loaded->chunk;
	unit = in / chunk->unit_size;
	from = in % chunk->unit_size;
	err = b2f_unit_pin(s->reading, s->head, unit, &s->ref);
	if (err)
		return err;
	s->data = s->ref.data + from;
	s->end = off + b2f_min_u64(src->size,
				   b2f_chunk_unit_nbytes(chunk, unit) - from);
	return 0;
}

/* Gets the segment that begins with position @off. */
static int segment_load(struct segment *s, uint64_t off)
{
	struct b2f_source src;
	int err;

	segment_drop(s);
	err = b2f_reading_find(s->reading, off, &src);
	if (err)
		return err;
	s->end = off + src.size;
	if (src.record) {
		s->record = src.record;
		s->data = src.record->data + (off - src.span.start);
	} else if (!src.is_zeros) {
		err = pin_unit(s, &src, off);
	}
	if (!err)
		s->start = off;
	return err;
}

/* Copies @size bytes at @off of the segment. */
static void segment_copy(const struct segment *s, uint64_t off, uint8_t *dst,
			 size_t size)
{
	if (!s->data) {
		memset(dst, 0, size);
		return;
	}
	if (s->record)
		pthread_rwlock_rdlock(&s->record->lock);
	memcpy(dst, s->data + (off - s->start), size);
	if (s->record)
		pthread_rwlock_unlock(&s->record->lock);
}

/* Copies [@off, @off + @size) of the stored data, by way of @s. */
static int copy_stored(struct segment *s, uint64_t off, uint8_t *dst,
		       uint64_t size)
{
	while (size > 0) {
		uint64_t n;

		if (off < s->start || off >= s->end) {
			int err = segment_load(s, off);

			if (err)
				return err;
		}
		n = b2f_min_u64(size, s->end - off);
		segment_copy(s, off, dst, (size_t)n);
		off += n;
		dst += n;
		size -= n;
	}
	return 0;
}

int b2f_gather_stored(const struct b2f_reading *r, uint8_t *buf, uint64_t size,
		      uint64_t off)
{
	struct segment s = {.reading = r};
	int err = copy_stored(&s, off, buf, size);

	segment_fini(&s);
	return err;
}

/* A box of a range. */
struct gather {
	const struct b2f_reading *reading;
	struct b2f_array_cells cells;
	/* Set if the reader reads in order. */
	struct b2f_stream *stream;
	/* Where its first item goes. */
	uint8_t *dst;
	/* Where the range ends, counted from the first item. */
	uint64_t end;
};

static uint64_t chunk_start(const struct b2f_reading *r, uint64_t nchunk)
{
	return nchunk * (uint32_t)r->frame->header.chunksize;
}

/* Lets the block of @cell go if the reader has used it up. */
static void pass_block(const struct gather *g, struct segment *s,
		       const struct b2f_array_cell *cell)
{
	const struct b2f_reading *r = g->reading;

	/* A unit may have more blocks than this one. */
	if (!g->stream || !cell->ends_block || !s->ref.entry ||
	    s->ref.size > cell->block_nbytes ||
	    b2f_stream_is_followed(g->stream, g->end))
		return;
	b2f_cache_put_passed(r->file->runtime->cache, &s->ref);
}

static int copy_cell(void *arg, size_t i)
{
	const struct gather *g = arg;
	struct segment s = {.reading = g->reading};
	uint64_t itemsize = g->reading->frame->array.itemsize;
	struct b2f_array_cell cell;
	int err;

	b2f_array_cell_get(&g->cells, i, &cell);
	do {
		err = copy_stored(
			&s,
			chunk_start(g->reading, cell.nchunk) + cell.chunk_off,
			g->dst + (cell.item - g->cells.item) * itemsize,
			cell.nitems * itemsize);
	} while (!err && b2f_array_cell_next(&cell));
	if (!err)
		pass_block(g, &s, &cell);
	segment_fini(&s);
	return err;
}

/* Whole items [@item, @end), to @like->dst. */
static int copy_items(const struct gather *like, uint64_t item, uint64_t end)
{
	const struct b2f_reading *r = like->reading;
	struct gather g = *like;
	int err = 0;

	while (item < end && !err) {
		b2f_array_cells_of(&r->frame->array, item, end, &g.cells);
		if (g.cells.n == 1)
			err = copy_cell(&g, 0);
		else
			err = b2f_pool_for(r->file->runtime->pool,
					   B2F_POOL_DEMAND, g.cells.n,
					   copy_cell, &g);
		g.dst += g.cells.nitems * r->frame->array.itemsize;
		item += g.cells.nitems;
	}
	return err;
}

/* A part of one item. */
static int copy_part(const struct b2f_reading *r, uint8_t *dst, uint64_t off,
		     uint64_t size)
{
	uint64_t itemsize = r->frame->array.itemsize;
	struct b2f_array_piece p =
		b2f_array_locate(&r->frame->array, off / itemsize);

	return b2f_gather_stored(r, dst, size,
				 chunk_start(r, p.nchunk) + p.chunk_off +
					 off % itemsize);
}

int b2f_gather(const struct b2f_reading *r, struct b2f_stream *stream,
	       uint8_t *buf, uint64_t size, uint64_t off)
{
	struct gather g = {
		.reading = r, .stream = stream, .end = off + size};
	const struct b2f_layout *layout = &r->frame->layout;
	uint64_t itemsize = r->frame->array.itemsize, n;
	int err = 0;

	for (; size > 0 && !err; buf += n, off += n, size -= n) {
		/* The first byte, counted from the first item. */
		uint64_t at = off - layout->head_len, in = at % itemsize;

		if (off < layout->head_len) {
			n = b2f_min_u64(size, layout->head_len - off);
			memcpy(buf, layout->head + off, n);
		} else if (in || size < itemsize) {
			n = b2f_min_u64(size, itemsize - in);
			err = copy_part(r, buf, at, n);
		} else {
			n = size - size % itemsize;
			g.dst = buf;
			err = copy_items(&g, at / itemsize,
					 (at + n) / itemsize);
		}
	}
	return err;
}
