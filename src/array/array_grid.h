/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array_grid.h - the blocks of an array in one dimension, through all chunks
 *
 * Private to array/.  Threads: pure functions.
 */
#ifndef B2F_ARRAY_ARRAY_GRID_H
#define B2F_ARRAY_ARRAY_GRID_H

#include "b2frame/array.h"
#include "base/checked.h"

/* Blocks of a chunk in dimension @d; the last one may stick out of it. */
static inline uint64_t b2f_array_grid_blocks(const struct b2f_array *a,
					     unsigned int d)
{
	return b2f_div_up_u64((uint64_t)a->chunkshape[d],
			      (uint64_t)a->blockshape[d]);
}

/* Number of the block of the whole array that has index @x of dimension @d. */
static inline uint64_t b2f_array_grid_at(const struct b2f_array *a,
					 unsigned int d, uint64_t x)
{
	uint64_t cs = (uint64_t)a->chunkshape[d];

	return x / cs * b2f_array_grid_blocks(a, d) +
	       x % cs / (uint64_t)a->blockshape[d];
}

#endif
