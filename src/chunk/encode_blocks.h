/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode_blocks.h - the blocks of a chunk in the making, one after the other
 *
 * Private to the encoders of chunks.
 *
 * Layer: chunk.  May include: base/ codec/ filter/.
 *
 * Threads: belongs to the thread of its encoder.
 */
#ifndef B2F_CHUNK_ENCODE_BLOCKS_H
#define B2F_CHUNK_ENCODE_BLOCKS_H

#include "chunk/encode_plan.h"

struct b2f_encode_blocks {
	struct b2f_encoder *enc;
	const struct b2f_encode_plan *plan;
	/* Where the chunk begins. */
	uint8_t *dst;
	/*
	 * Next byte to write, and the end of a chunk that stores the data as
	 * they are.
	 */
	uint32_t at;
	uint32_t limit;
	uint32_t nblocks;
	/* Some stream is more than a run of zeros. */
	bool has_data;
};

/* Decoded bytes of block @block (< nblocks). */
uint32_t b2f_encode_blocks_nbytes(const struct b2f_encode_blocks *b,
				  uint32_t block);

/*
 * Begins in @b the blocks of a chunk at @dst, which has room for
 * b2f_chunk_encode_bound() of the plan's nbytes: the first goes behind header
 * and table.
 *
 * This and all that follow return 1, or 0 if the chunk takes more than its
 * data do as they are (nothing more can be put then), or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_encode_blocks_begin(struct b2f_encode_blocks *b,
			    struct b2f_encoder *enc,
			    const struct b2f_encode_plan *plan, uint8_t *dst);

/* Encodes the data at @src, which stay as they are, as block @block. */
B2F_MUST_CHECK
int b2f_encode_blocks_put(struct b2f_encode_blocks *b, uint32_t block,
			  const uint8_t *src);

/* Copies the @size stored bytes at @stored, all streams of it, as @block. */
B2F_MUST_CHECK
int b2f_encode_blocks_copy(struct b2f_encode_blocks *b, uint32_t block,
			   const uint8_t *stored, size_t size);

/*
 * Makes a whole chunk of the data at @src, of *@cbytes; it stores them as they
 * are if they do not shrink.  Returns 0, or -ENOMEM with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_encode_blocks_all(struct b2f_encoder *enc,
			  const struct b2f_encode_plan *plan,
			  const uint8_t *src, uint8_t *dst, uint32_t *cbytes,
			  struct b2f_why *why);

/* Stores the data as they are, zeros if @src is NULL; returns the cbytes. */
uint32_t b2f_encode_blocks_none(const struct b2f_encode_plan *plan,
				const uint8_t *src, uint8_t *dst);

#endif
