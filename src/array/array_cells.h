/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array_cells.h - a range of an array in C order, as parts of its blocks
 *
 * A range of items that follow each other in C order is a few *boxes*; the part
 * of a box in one block is a *cell*. A cell is made of *runs*: items that
 * follow each other in C order and in the block.  So a copy of a range, cell by
 * cell, needs every block once.
 *
 *     array      blocks         one box: two rows     its cells and runs
 *     ......     ..|..|..       ......                aa|bb|cc
 *     ......     ..|..|..       ######                aa|bb|cc
 *     ......     --+--+--       ######
 *
 * Layer: array.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_ARRAY_ARRAY_CELLS_H
#define B2F_ARRAY_ARRAY_CELLS_H

#include <stdbool.h>

#include "b2frame/array.h"
#include "base/attr.h"

/* The cells of one box. */
struct b2f_array_cells {
	const struct b2f_array *array;
	/* The box: the first item and the end in each dimension. */
	uint64_t start[B2F_ARRAY_MAX_DIM];
	uint64_t end[B2F_ARRAY_MAX_DIM];
	/* Number of blocks that the box crosses in each dimension. */
	uint64_t count[B2F_ARRAY_MAX_DIM];
	/* First item of the box in C order, and the number of items. */
	uint64_t item;
	uint64_t nitems;
	/* Cells: the product of @count. */
	uint64_t n;
};

/*
 * The largest box of [@item, @end) (C order, @item < @end <= nitems) that
 * begins with @item; the range goes on at @out->item + @out->nitems.
 */
void b2f_array_cells_of(const struct b2f_array *array, uint64_t item,
			uint64_t end, struct b2f_array_cells *out);

/* The box of all items of the array in chunk @nchunk (< nchunks). */
void b2f_array_cells_of_chunk(const struct b2f_array *array, uint64_t nchunk,
			      struct b2f_array_cells *out);

/* Goes through the runs of a cell; made by b2f_array_cell_get(). */
struct b2f_array_cell {
	const struct b2f_array *array;
	/* The chunk of the cell. */
	uint64_t nchunk;
	/*
	 * The current run: its first item in C order, its first byte in the
	 * decoded chunk, and its number of items (>= 1).
	 */
	uint64_t item;
	uint64_t chunk_off;
	uint64_t nitems;
	/* Bytes of the block in the decoded chunk. */
	uint64_t block_off;
	uint64_t block_nbytes;
	/* The cell has the block's last item of the array, in C order. */
	bool ends_block;
	/* Number of dimensions in which a run has one item only; for these: */
	unsigned int nouter;
	uint64_t len[B2F_ARRAY_MAX_DIM];
	uint64_t at[B2F_ARRAY_MAX_DIM];
	/* Distance of two items, in C order and in the block. */
	uint64_t stride[B2F_ARRAY_MAX_DIM];
	uint64_t block_stride[B2F_ARRAY_MAX_DIM];
};

/* Cell @i (< n), at its first run. */
void b2f_array_cell_get(const struct b2f_array_cells *cells, uint64_t i,
			struct b2f_array_cell *out);

/* Goes to the next run; false if there is none. */
bool b2f_array_cell_next(struct b2f_array_cell *cell);

/* Reads @nbytes of the items in C order, from byte @off on.  0 or an error. */
typedef int b2f_array_read_fn(void *arg, uint8_t *buf, uint64_t nbytes,
			      uint64_t off);

/*
 * Copies all items of chunk @nchunk to their positions in the decoded chunk
 * @buf, but leaves its padding alone.  Returns 0, or the first error of @read.
 */
B2F_MUST_CHECK
int b2f_array_read_chunk(const struct b2f_array *array, uint64_t nchunk,
			 b2f_array_read_fn *read, void *arg, uint8_t *buf);

/*
 * True if the items of the array are stored in C order, one behind the other
 * from the first chunk to the last, with padding behind the last one only.
 */
bool b2f_array_is_linear(const struct b2f_array *array);

#endif
