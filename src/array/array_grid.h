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

/* A block in dimension @d: in the grid of chunks, and in the array. */
struct b2f_array_extent {
	uint64_t chunk;
	/* In the chunk. */
	uint64_t block;
	uint64_t start;
	uint64_t end;
};

/* Block @g, as b2f_array_grid_at() counts; its end may be outside the array. */
static inline struct b2f_array_extent
b2f_array_grid_extent(const struct b2f_array *a, unsigned int d, uint64_t g)
{
	uint64_t cs = (uint64_t)a->chunkshape[d];
	uint64_t bs = (uint64_t)a->blockshape[d];
	struct b2f_array_extent e = {
		.chunk = g / b2f_array_grid_blocks(a, d),
		.block = g % b2f_array_grid_blocks(a, d),
	};

	e.start = e.chunk * cs + e.block * bs;
	e.end = b2f_min_u64(e.start + bs, (e.chunk + 1) * cs);
	return e;
}

#endif
