/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunk.h - a chunk as a row of units that can be decoded one by one
 *
 * A reader decodes and caches a *unit* at a time: usually one block.  Chunks
 * whose blocks cannot be found without decoding the others (variable-length
 * blocks; a block size that may be wrong, docs/format.md 9.1) have one unit,
 * the whole chunk.  Chunks without blocks (stored as they are, or special) are
 * cut into units of a fixed size.
 *
 * Nothing here reads files: the caller brings the *head* (header, block table,
 * dictionary), asks where a unit is stored, and brings those bytes.
 *
 * Layer: chunk.  May include: base/ codec/ filter/.
 *
 * Threads: a struct b2f_chunk is immutable after b2f_chunk_open().
 */
#ifndef B2F_CHUNK_CHUNK_H
#define B2F_CHUNK_CHUNK_H

#include "base/bytes.h"
#include "chunk/chunk_header.h"
#include "chunk/decoder.h"

/* Unit of chunks that have no blocks, decoded bytes. */
#define B2F_FLAT_UNIT (256u << 10)

/*
 * Blocks below B2F_SMALL_BLOCK are too small to be units; such a chunk is one
 * unit, unless it is above B2F_WHOLE_MAX (decoded bytes).
 */
#define B2F_SMALL_BLOCK 4096u
#define B2F_WHOLE_MAX	(8u << 20)

/* Facts about its frame that a chunk needs. */
struct b2f_chunk_context {
	/* Real type size, may be > 255; 0 for a bare chunk. */
	uint32_t typesize;
	/* Block grid of a b2nd array; NULL if there is none. */
	const struct b2f_filter_grid *grid;
	/* A checksum outside covers all stored bytes: read them as one unit. */
	bool whole;
};

enum b2f_chunk_layout {
	/* Units are made from the head alone. */
	B2F_CHUNK_SPECIAL,
	/* The data are stored as they are. */
	B2F_CHUNK_FLAT,
	/* One unit per block. */
	B2F_CHUNK_BLOCKS,
	/* One unit: VL blocks, a doubtful block size, or very small blocks. */
	B2F_CHUNK_WHOLE,
};

/* One way to cut a chunk into blocks.  Pointers go into the head. */
struct b2f_chunk_blocks {
	/* Decoded bytes of every block but the last; VL: 0. */
	uint32_t blocksize;
	uint32_t nblocks;
	/* nblocks little-endian int32: where each block starts. */
	const uint8_t *table;
	/* NULL without a dictionary. */
	const uint8_t *dict;
	uint32_t dict_size;
	/* The lowest offset that a block may have. */
	uint32_t start;
};

#define B2F_DOUBTS_MAX 2

struct b2f_chunk {
	struct b2f_chunk_header header;
	struct b2f_chunk_context context;
	enum b2f_chunk_layout layout;
	/* 0 if the chunk is empty. */
	uint32_t nunits;
	/* Decoded bytes of every unit but the last. */
	uint32_t unit_size;
	/*
	 * According to the header; without a table if there are no blocks or
	 * the size is impossible.
	 */
	struct b2f_chunk_blocks blocks;
	/* Other sizes that the writer may have used; see docs/format.md 9.1. */
	struct b2f_chunk_blocks doubt[B2F_DOUBTS_MAX];
	unsigned int ndoubts;
	/* It is more likely that the writer used one of those. */
	bool doubts_first;
	/* In the head: the repeated value, header.cbytes - header_len bytes. */
	const uint8_t *value;
};

/*
 * How many bytes from the start of the chunk b2f_chunk_open() needs, never
 * more than header->cbytes.
 */
uint32_t b2f_chunk_head_size(const struct b2f_chunk_header *header,
			     const struct b2f_chunk_context *context);

/*
 * Fills @out from the head of a chunk: the first @size bytes of it at @head,
 * at least b2f_chunk_head_size(), which must outlive @out.  @stored is how many
 * bytes the store has for this chunk.
 *
 * Returns 0, B2F_ECORRUPT or B2F_EUNSUPPORTED, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_chunk_open(const uint8_t *head, size_t size, uint64_t stored,
		   const struct b2f_chunk_context *context,
		   struct b2f_chunk *out, struct b2f_why *why);

/*
 * Makes @out a special chunk that exists only as an entry of an index.
 * @special is not B2F_SPECIAL_VALUE.  Returns 0 or B2F_ECORRUPT (NaNs of an
 * impossible type size).
 */
B2F_MUST_CHECK
int b2f_chunk_open_special(enum b2f_special special, uint32_t nbytes,
			   const struct b2f_chunk_context *context,
			   struct b2f_chunk *out, struct b2f_why *why);

/* Decoded bytes of @unit (< nunits). */
uint32_t b2f_chunk_unit_nbytes(const struct b2f_chunk *chunk, uint32_t unit);

/*
 * Returns the most memory that a decoder needs besides the decoded @unit: the
 * stored bytes, a buffer for the filters, and unit 0 for the delta filter.
 */
uint64_t b2f_chunk_unit_beside(const struct b2f_chunk *chunk, uint32_t unit);

/*
 * Where @unit is stored: [*@off, *@off + *@size) from the start of the chunk;
 * size 0 if it needs no stored bytes.  Blocks may lie in any order, so the end
 * is the start of the next one in that order, which is a guess: see
 * b2f_chunk_unit_reach().  Returns 0 or B2F_ECORRUPT.
 */
B2F_MUST_CHECK
int b2f_chunk_unit_extent(const struct b2f_chunk *chunk, uint32_t unit,
			  uint32_t *off, uint32_t *size, struct b2f_why *why);

/* Offset of block @block, straight from the table: not checked. */
static inline uint32_t
b2f_chunk_block_start(const struct b2f_chunk_blocks *blocks, uint32_t block)
{
	return b2f_load_le32(blocks->table + 4 * (size_t)block);
}

/*
 * Where block @block of @blocks begins in @chunk, checked to lie among the
 * stored bytes.  Returns 0 or B2F_ECORRUPT.
 */
B2F_MUST_CHECK
int b2f_chunk_block_find(const struct b2f_chunk *chunk,
			 const struct b2f_chunk_blocks *blocks, uint32_t block,
			 uint32_t *start, struct b2f_why *why);

/*
 * How many of the @size bytes at @stored, where block @block begins, are its
 * streams; of a VL block, all.  Checks only what decoding needs.  Returns 0 or
 * B2F_ECORRUPT.
 */
B2F_MUST_CHECK
int b2f_chunk_block_size(const struct b2f_chunk *chunk, uint32_t block,
			 const uint8_t *stored, size_t size, size_t *out,
			 struct b2f_why *why);

/*
 * Where block @block lies in the chunk at @raw, which has all its cbytes.
 * Returns 0 or B2F_ECORRUPT.
 */
B2F_MUST_CHECK
int b2f_chunk_block_place(const struct b2f_chunk *chunk, const uint8_t *raw,
			  uint32_t block, uint32_t *off, size_t *size,
			  struct b2f_why *why);

/*
 * The most bytes from its start that @unit could use: for a second try, as
 * blocks of an odd or crafted chunk may overlap.
 */
uint32_t b2f_chunk_unit_reach(const struct b2f_chunk *chunk, uint32_t unit,
			      uint32_t off);

/* True if units above 0 need the decoded unit 0 (the delta filter). */
bool b2f_chunk_needs_ref(const struct b2f_chunk *chunk);

/* The stored bytes of a unit, before they are decoded. */
struct b2f_stored_unit {
	uint32_t unit;
	/* @size bytes, from the offset of b2f_chunk_unit_extent() on. */
	const uint8_t *data;
	size_t size;
	/*
	 * The decoded unit 0, used only if b2f_chunk_needs_ref() and @unit is
	 * another one.
	 */
	const uint8_t *ref;
};

/*
 * Decodes @stored into @dst (b2f_chunk_unit_nbytes() bytes).
 *
 * Returns 0, B2F_ECORRUPT, B2F_EUNSUPPORTED (plugin codec or filter) or
 * -ENOMEM, with the cause in @why; @dst holds rubbish after an error.
 */
B2F_MUST_CHECK
int b2f_chunk_decode_unit(const struct b2f_chunk *chunk,
			  struct b2f_decoder *dec,
			  const struct b2f_stored_unit *stored, uint8_t *dst,
			  struct b2f_why *why);

/*
 * An excerpt of a unit: some of its items, of a split block that is only
 * shuffled, whose first streams are stored as they are.  A few bytes of these
 * are enough.  All other streams are decoded as a whole, so that damage is
 * found as it is found in the whole unit.
 */
struct b2f_excerpt {
	uint32_t unit;
	/* [@start, @start + @size) of the decoded unit: whole items. */
	uint32_t start;
	uint32_t size;
	/* As b2f_chunk_unit_extent() says. */
	uint32_t stored_off;
	uint32_t stored_size;
	/* The first streams: they are taken to be stored as they are. */
	uint32_t nplain;
};

/* Stored bytes that an excerpt needs, from @stored_off on. */
struct b2f_excerpt_range {
	uint32_t off;
	uint32_t size;
};

#define B2F_EXCERPT_RANGES_MAX (2 * B2F_PLANES_MAX + 1)

/*
 * Plans @e, whose unit, start and size are set, and nplain to the most that it
 * may become.  Returns false if the unit has to be decoded as a whole.
 */
bool b2f_excerpt_plan(const struct b2f_chunk *chunk, struct b2f_excerpt *e);

/* The bytes to read, in ascending order, into @out; returns their number. */
size_t b2f_excerpt_ranges(const struct b2f_chunk *chunk,
			  const struct b2f_excerpt *e,
			  struct b2f_excerpt_range out[B2F_EXCERPT_RANGES_MAX]);

/*
 * Decodes @e into @dst from @stored, of whose stored_size bytes only those of
 * b2f_excerpt_ranges() are used.
 *
 * Returns 0, 1 (fewer streams are stored as they are: @e->nplain is their
 * number now, and may be tried if it is not 0) or an error, whose cause
 * decoding the whole unit tells.
 */
B2F_MUST_CHECK
int b2f_excerpt_decode(const struct b2f_chunk *chunk, struct b2f_decoder *dec,
		       struct b2f_excerpt *e, const uint8_t *stored,
		       uint8_t *dst);

/*
 * Decodes the whole chunk at @raw (at least its cbytes) into @dst, which has
 * room for its nbytes.  Returns as b2f_chunk_decode_unit().
 */
B2F_MUST_CHECK
int b2f_chunk_decode_all(const struct b2f_chunk *chunk, struct b2f_decoder *dec,
			 const uint8_t *raw, uint8_t *dst, struct b2f_why *why);

#endif
