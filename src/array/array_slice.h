/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array_slice.h - a slice of an array, as parts of its blocks
 *
 * The slice, which is an array itself, is cut into *boxes* that follow each
 * other in its C order; the part of a box in one block is a *cell*. Unlike in
 * array_cells.h, a cell may skip items of its block, and have them in another
 * order.
 *
 * Layer: array.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_ARRAY_ARRAY_SLICE_H
#define B2F_ARRAY_ARRAY_SLICE_H

#include <stdbool.h>

#include "b2frame/slice.h"

/* Is the whole slice inside @array? */
bool b2f_array_slice_fits(const struct b2f_array *array,
			  const struct b2f_slice *slice);

/* Items of a slice that fits. */
uint64_t b2f_array_slice_nitems(const struct b2f_array *array,
				const struct b2f_slice *slice);

struct b2f_array_box {
	const struct b2f_array *array;
	/*
	 * In each dimension: first index in the slice, and number of indexes.
	 */
	uint64_t first[B2F_ARRAY_MAX_DIM];
	uint64_t len[B2F_ARRAY_MAX_DIM];
	/* Lowest index in the array, and the step from it upwards. */
	uint64_t low[B2F_ARRAY_MAX_DIM];
	uint64_t step[B2F_ARRAY_MAX_DIM];
	/* The slice goes downwards. */
	bool down[B2F_ARRAY_MAX_DIM];
	/*
	 * Cells of each dimension: one for each block from the lowest to the
	 * highest, or, if that is less, for each index.
	 */
	uint64_t count[B2F_ARRAY_MAX_DIM];
	bool by_index[B2F_ARRAY_MAX_DIM];
	/* Number of items and of cells: the products. */
	uint64_t nitems;
	uint64_t n;
};

/*
 * The box of at most @most (> 0) items that begins with item @item of the slice
 * (< all of them, and where a box has ended).  Where it cannot go to the end of
 * a dimension, it ends with a block if possible.
 */
void b2f_array_slice_box(const struct b2f_array *array,
			 const struct b2f_slice *slice, uint64_t item,
			 uint64_t most, struct b2f_array_box *out);

/* The part of a box that lies in one block. */
struct b2f_array_part {
	uint64_t nchunk;
	/* Bytes of the decoded chunk that the part spans. */
	uint64_t chunk_off;
	uint64_t nbytes;
	/*
	 * In each dimension of @box: the first index, and the number of
	 * indexes.
	 */
	uint64_t first[B2F_ARRAY_MAX_DIM];
	uint64_t len[B2F_ARRAY_MAX_DIM];
};

/* Cell @i (< n); false if the block has no item of the box. */
bool b2f_array_slice_part(const struct b2f_array_box *box, uint64_t i,
			  struct b2f_array_part *out);

/*
 * Copies the items from @src, with all nbytes of @part, to their positions in
 * @dst, with room for all items of @box.
 */
void b2f_array_slice_copy(const struct b2f_array_box *box,
			  const struct b2f_array_part *part, const uint8_t *src,
			  uint8_t *dst);

#endif
