/* SPDX-License-Identifier: BSD-3-Clause */
/* chunk.c - the positions of a chunk's units */
#include "chunk/chunk.h"

#include <string.h>

#include "base/checked.h"
#include "base/cursor.h"

/* With more blocks the next one in the file is not searched for. */
#define NEIGHBOURS_MAX 4096

static bool has_blocks(const struct b2f_chunk_header *h)
{
	return !h->special && !h->memcpyed && h->nbytes > 0;
}

static bool is_small(const struct b2f_chunk_header *h)
{
	return h->blocksize < B2F_SMALL_BLOCK && h->nbytes <= B2F_WHOLE_MAX;
}

static uint32_t count_blocks(const struct b2f_chunk_header *h,
			     uint32_t blocksize)
{
	return (uint32_t)b2f_div_up_u64(h->nbytes, blocksize);
}

/*
 * C-Blosc2 3.x can write a block size that it did not round down to a multiple
 * of the type size, while it cuts the data into rounded blocks
 * (docs/format.md 9.1).  Returns the block size it may have used, or 0 if there
 * is no doubt.
 */
static uint32_t rounded_blocksize(const struct b2f_chunk_header *h,
				  uint32_t typesize)
{
	uint32_t rounded = h->blocksize;

	if (typesize == 0 || h->vl)
		return 0;
	if (h->nbytes < typesize)
		rounded = 1;
	else if (h->blocksize > typesize)
		rounded = h->blocksize / typesize * typesize;
	return rounded == h->blocksize ? 0 : rounded;
}

/* Bytes up to the end of a table for @blocksize; 0 if that is 0. */
static uint64_t table_end(const struct b2f_chunk_header *h, uint32_t blocksize)
{
	if (blocksize == 0)
		return 0;
	return h->header_len + 4 * (uint64_t)count_blocks(h, blocksize);
}

uint32_t b2f_chunk_head_size(const struct b2f_chunk_header *header,
			     const struct b2f_chunk_context *context)
{
	const struct b2f_chunk_header *h = header;
	uint64_t size = h->header_len;
	uint32_t rounded;

	if (h->special == B2F_SPECIAL_VALUE)
		return h->cbytes;
	if (!has_blocks(h))
		return h->header_len;
	if (h->vl) {
		size += 4 * (uint64_t)h->blocksize;
	} else {
		size = table_end(h, h->blocksize);
		rounded = rounded_blocksize(h, context->typesize);
		size = b2f_max_u64(size, table_end(h, rounded));
		rounded = rounded_blocksize(h, h->typesize);
		size = b2f_max_u64(size, table_end(h, rounded));
	}
	if (h->has_dict)
		size += 4 + B2F_DICT_MAX;
	return (uint32_t)b2f_min_u64(size, h->cbytes);
}

/* Finds the dictionary behind a table that ends at @end. */
static int open_dict(const struct b2f_chunk_header *h,
		     struct b2f_chunk_blocks *blocks, struct b2f_cursor cur,
		     uint32_t end, struct b2f_why *why)
{
	blocks->start = end;
	if (!h->has_dict)
		return 0;
	b2f_cursor_seek(&cur, end);
	blocks->dict_size = b2f_cursor_le32(&cur);
	if (blocks->dict_size == 0 || blocks->dict_size > B2F_DICT_MAX)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a dictionary of %d bytes",
				   (int32_t)blocks->dict_size);
	blocks->dict = b2f_cursor_take(&cur, blocks->dict_size);
	if (!blocks->dict)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a dictionary beyond the chunk");
	blocks->start = end + 4 + blocks->dict_size;
	return 0;
}

/* Finds table and dictionary, if blocks have @blocksize (ignored if VL). */
static int open_blocks(const struct b2f_chunk_header *h, struct b2f_cursor head,
		       uint32_t blocksize, struct b2f_chunk_blocks *out,
		       struct b2f_why *why)
{
	struct b2f_chunk_blocks blocks = {0};
	uint64_t end;
	int err;

	blocks.blocksize = h->vl ? 0 : blocksize;
	blocks.nblocks = h->vl ? h->blocksize : count_blocks(h, blocksize);
	end = h->header_len + 4 * (uint64_t)blocks.nblocks;
	if (end > head.size)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a table of %u blocks in %u stored bytes",
				   blocks.nblocks, h->cbytes);
	blocks.table = head.data + h->header_len;
	err = open_dict(h, &blocks, head, (uint32_t)end, why);
	if (!err)
		*out = blocks;
	return err;
}

/* True if the table ends just where the first block begins. */
static bool table_fits(const struct b2f_chunk_blocks *blocks)
{
	uint32_t lowest = UINT32_MAX;

	for (uint32_t i = 0; i < blocks->nblocks; i++)
		lowest = (uint32_t)b2f_min_u64(
			lowest, b2f_chunk_block_start(blocks, i));
	return lowest == blocks->start;
}

static void note_doubt(struct b2f_chunk *c, struct b2f_cursor head,
		       uint32_t typesize)
{
	uint32_t blocksize = rounded_blocksize(&c->header, typesize);
	struct b2f_chunk_blocks blocks;

	if (blocksize == 0)
		return;
	if (c->ndoubts && c->doubt[0].blocksize == blocksize)
		return;
	if (open_blocks(&c->header, head, blocksize, &blocks, NULL))
		return;
	if (table_fits(&blocks))
		c->doubt[c->ndoubts++] = blocks;
}

/* The type size that the writer of the chunk had. */
static uint32_t real_typesize(const struct b2f_chunk *c)
{
	/* The field of a chunk has one byte. */
	return c->header.typesize == 1 && c->context.typesize > 255
		       ? c->context.typesize
		       : c->header.typesize;
}

/*
 * Finds the other block sizes that the writer may have used.  Streams may
 * decode to any length, so it counts which size comes first: no writer but that
 * of docs/format.md 9.1 has sizes that are not rounded.
 */
static void note_doubts(struct b2f_chunk *c, struct b2f_cursor head)
{
	uint32_t typesize = real_typesize(c);

	note_doubt(c, head, typesize);
	note_doubt(c, head, c->context.typesize);
	c->doubts_first = c->ndoubts &&
			  (!c->blocks.table || c->header.blocksize % typesize ||
			   !table_fits(&c->blocks));
}

static void set_units(struct b2f_chunk *c, enum b2f_chunk_layout layout,
		      uint32_t unit_size)
{
	c->layout = layout;
	c->unit_size = unit_size;
	c->nunits = (uint32_t)b2f_div_up_u64(c->header.nbytes, unit_size);
}

static int open_layout(struct b2f_chunk *c, struct b2f_cursor head,
		       struct b2f_why *why)
{
	const struct b2f_chunk_header *h = &c->header;
	int err;

	if (h->special == B2F_SPECIAL_VALUE)
		c->value = head.data + h->header_len;
	if (!has_blocks(h)) {
		set_units(c, h->memcpyed ? B2F_CHUNK_FLAT : B2F_CHUNK_SPECIAL,
			  h->nbytes && c->context.whole ? h->nbytes
							: B2F_FLAT_UNIT);
		return 0;
	}
	err = open_blocks(h, head, h->blocksize, &c->blocks, why);
	note_doubts(c, head);
	/* A wrong block size may already show in an impossible table. */
	if (err && !c->ndoubts)
		return err;
	if (h->vl || c->ndoubts || c->context.whole || is_small(h))
		set_units(c, B2F_CHUNK_WHOLE, h->nbytes);
	else
		set_units(c, B2F_CHUNK_BLOCKS, h->blocksize);
	return 0;
}

int b2f_chunk_open(const uint8_t *head, size_t size, uint64_t stored,
		   const struct b2f_chunk_context *context,
		   struct b2f_chunk *out, struct b2f_why *why)
{
	struct b2f_chunk c = {.context = *context};
	int err = b2f_chunk_header_parse(head, size, &c.header, why);

	if (err)
		return err;
	if (c.header.cbytes > stored)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "cut short: %llu of %u bytes are there",
				   (unsigned long long)stored, c.header.cbytes);
	if (size > c.header.cbytes)
		size = c.header.cbytes;
	if (size < b2f_chunk_head_size(&c.header, context))
		return b2f_why_set(why, B2F_ECORRUPT, "the head is cut short");
	err = open_layout(&c, b2f_cursor_at(head, size), why);
	if (err)
		return err;
	*out = c;
	return 0;
}

int b2f_chunk_open_special(enum b2f_special special, uint32_t nbytes,
			   const struct b2f_chunk_context *context,
			   struct b2f_chunk *out, struct b2f_why *why)
{
	struct b2f_chunk c = {.context = *context};

	if (special == B2F_SPECIAL_NAN && context->typesize != 4 &&
	    context->typesize != 8)
		return b2f_why_set(why, B2F_ECORRUPT, "NaNs of type size %u",
				   context->typesize);
	c.header.special = special;
	c.header.nbytes = nbytes;
	c.header.typesize =
		context->typesize > 255 ? 1 : (uint8_t)context->typesize;
	set_units(&c, B2F_CHUNK_SPECIAL, B2F_FLAT_UNIT);
	*out = c;
	return 0;
}

uint32_t b2f_chunk_unit_nbytes(const struct b2f_chunk *chunk, uint32_t unit)
{
	uint64_t start = (uint64_t)unit * chunk->unit_size;

	return (uint32_t)b2f_min_u64(chunk->unit_size,
				     chunk->header.nbytes - start);
}

/*
 * The start of the block that follows @start in the chunk, or its end.  Gives
 * up on very many blocks: a crafted chunk may have millions.
 */
static uint32_t next_start(const struct b2f_chunk *chunk, uint32_t start)
{
	uint32_t next = chunk->header.cbytes;

	if (chunk->blocks.nblocks > NEIGHBOURS_MAX)
		return next;
	for (uint32_t i = 0; i < chunk->blocks.nblocks; i++) {
		uint32_t s = b2f_chunk_block_start(&chunk->blocks, i);

		if (s > start && s < next)
			next = s;
	}
	return next;
}

int b2f_chunk_block_find(const struct b2f_chunk *chunk,
			 const struct b2f_chunk_blocks *blocks, uint32_t block,
			 uint32_t *start, struct b2f_why *why)
{
	uint32_t s;

	/* Only one of the other sizes may be possible. */
	if (!blocks->table)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "there is no table for blocks of %u bytes",
				   chunk->header.blocksize);
	s = b2f_chunk_block_start(blocks, block);
	if (s < blocks->start || !b2f_range_fits(s, 4, chunk->header.cbytes))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "block %u starts at %d of %u bytes", block,
				   (int32_t)s, chunk->header.cbytes);
	*start = s;
	return 0;
}

/* Passes over one stream. */
static void skip_stream(struct b2f_cursor *cur)
{
	int32_t csize = (int32_t)b2f_cursor_le32(cur);

	if (csize < 0)
		b2f_cursor_skip(cur, 1);
	else
		b2f_cursor_skip(cur, (size_t)csize);
}

int b2f_chunk_block_size(const struct b2f_chunk *chunk, uint32_t block,
			 const uint8_t *stored, size_t size, size_t *out,
			 struct b2f_why *why)
{
	struct b2f_cursor cur = b2f_cursor_at(stored, size);
	const struct b2f_chunk_header *h = &chunk->header;
	uint64_t begin = (uint64_t)block * h->blocksize;
	uint32_t nstreams = 1;

	*out = size;
	if (h->vl)
		return 0;
	if (h->split && h->nbytes - begin >= h->blocksize)
		nstreams = h->typesize;
	for (uint32_t i = 0; i < nstreams; i++)
		skip_stream(&cur);
	if (!b2f_cursor_ok(&cur))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "block %u reaches beyond its bytes", block);
	*out = size - b2f_cursor_left(&cur);
	return 0;
}

int b2f_chunk_block_place(const struct b2f_chunk *chunk, const uint8_t *raw,
			  uint32_t block, uint32_t *off, size_t *size,
			  struct b2f_why *why)
{
	uint32_t end = chunk->header.cbytes, start = 0;
	int err =
		b2f_chunk_block_find(chunk, &chunk->blocks, block, &start, why);

	if (err)
		return err;
	if (chunk->header.vl && block + 1 < chunk->blocks.nblocks)
		end = b2f_chunk_block_start(&chunk->blocks, block + 1);
	if (end < start || end > chunk->header.cbytes)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "block %u ends before it starts", block);
	*off = start;
	return b2f_chunk_block_size(chunk, block, raw + start, end - start,
				    size, why);
}

static int block_extent(const struct b2f_chunk *chunk, uint32_t block,
			uint32_t *off, uint32_t *size, struct b2f_why *why)
{
	uint32_t start = 0, reach, end;
	int err =
		b2f_chunk_block_find(chunk, &chunk->blocks, block, &start, why);

	if (err)
		return err;
	end = next_start(chunk, start);
	reach = b2f_chunk_unit_reach(chunk, block, start);
	*off = start;
	*size = (uint32_t)b2f_min_u64(end - start, reach);
	return 0;
}

int b2f_chunk_unit_extent(const struct b2f_chunk *chunk, uint32_t unit,
			  uint32_t *off, uint32_t *size, struct b2f_why *why)
{
	switch (chunk->layout) {
	case B2F_CHUNK_SPECIAL:
		*off = *size = 0;
		return 0;
	case B2F_CHUNK_FLAT:
		*off = chunk->header.header_len + unit * chunk->unit_size;
		*size = b2f_chunk_unit_nbytes(chunk, unit);
		return 0;
	case B2F_CHUNK_WHOLE:
		*off = 0;
		*size = chunk->header.cbytes;
		return 0;
	case B2F_CHUNK_BLOCKS:
		break;
	}
	return block_extent(chunk, unit, off, size, why);
}

uint32_t b2f_chunk_unit_reach(const struct b2f_chunk *chunk, uint32_t unit,
			      uint32_t off)
{
	uint64_t left = chunk->header.cbytes - off;
	uint64_t nstreams = chunk->header.split ? chunk->header.typesize : 1;
	/*
	 * A run takes five bytes, any other stream four and at most its own
	 * size.
	 */
	uint64_t most = b2f_chunk_unit_nbytes(chunk, unit) + 5 * nstreams;

	return (uint32_t)b2f_min_u64(left, most);
}

bool b2f_chunk_needs_ref(const struct b2f_chunk *chunk)
{
	return chunk->layout == B2F_CHUNK_BLOCKS &&
	       b2f_pipeline_needs_ref(&chunk->header.pipeline);
}

uint64_t b2f_chunk_unit_beside(const struct b2f_chunk *chunk, uint32_t unit)
{
	const struct b2f_chunk_header *h = &chunk->header;
	uint64_t n = b2f_chunk_unit_nbytes(chunk, unit), bytes;

	if (chunk->layout == B2F_CHUNK_SPECIAL)
		return 0;
	bytes = chunk->layout == B2F_CHUNK_WHOLE
			? h->cbytes
			: b2f_chunk_unit_reach(chunk, unit, 0);
	if (b2f_pipeline_needs_tmp(&h->pipeline))
		bytes += n;
	/* A plane of zeros alone. */
	if (h->split && h->typesize > 1)
		bytes += n / h->typesize;
	if (unit > 0 && b2f_chunk_needs_ref(chunk))
		bytes += chunk->unit_size;
	return bytes;
}
