/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array.h - the geometry of a b2nd array
 *
 * docs/format.md 5.  Arithmetic only: nothing here reads anything.
 *
 * Layer: public (made by array/).  Threads: pure functions.
 */
#ifndef B2FRAME_ARRAY_H
#define B2FRAME_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "b2frame/api.h"

B2F_BEGIN_API

#define B2F_ARRAY_MAX_DIM 16

/* Bytes of the largest block of C-Blosc2; so, of the item of a new array. */
#define B2F_BLOCKSIZE_MAX      ((uint32_t)536866816)
#define B2F_ARRAY_MAX_ITEMSIZE B2F_BLOCKSIZE_MAX

struct b2f_array {
	/* 0..B2F_ARRAY_MAX_DIM; 0 is a single item. */
	unsigned int ndim;
	/* Items in each dimension, >= 0. */
	int64_t shape[B2F_ARRAY_MAX_DIM];
	/* Items of a chunk in each dimension, > 0 unless shape is 0. */
	int32_t chunkshape[B2F_ARRAY_MAX_DIM];
	int32_t blockshape[B2F_ARRAY_MAX_DIM];
	/* Bytes of an item. */
	uint32_t itemsize;
	/* Items of the whole array, per block, and per padded chunk. */
	uint64_t nitems;
	uint64_t block_items;
	uint64_t chunk_items;
	/* Chunks of the grid that @shape and @chunkshape make. */
	uint64_t nchunks;
	/* 0: dtype is a string of numpy.dtype.str. */
	uint8_t dtype_format;
	/*
	 * The items are in Fortran order: the first index runs fastest.  Never
	 * set for a b2nd array.
	 */
	bool fortran_order;
	/* Malloc'ed, with a 0 behind it; NULL if the metalayer has none. */
	char *dtype;
};

/* Where a run of items that follow each other in C order is stored. */
struct b2f_array_piece {
	/* Chunk number, and bytes from its decoded start. */
	uint64_t nchunk;
	uint64_t chunk_off;
	/* Items that also follow each other in the chunk, >= 1. */
	uint64_t nitems;
};

/*
 * Locates item @item (< nitems, C order) and the items that follow it in the
 * same block.
 */
struct b2f_array_piece b2f_array_locate(const struct b2f_array *array,
					uint64_t item);

B2F_END_API

#endif
