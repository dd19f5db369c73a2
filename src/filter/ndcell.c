/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ndcell.c - the filters that store an n-dimensional block cell by cell
 *
 * ndmean also replaces the items of a cell by their mean; the layout is the
 * same.
 */
#include "filter/filter.h"

#include <string.h>

#include "b2frame/error.h"
#include "base/checked.h"

/* A cell, walked row by row; the last dimension is the one of the rows. */
struct cell {
	/* Its first item in the block, and its extent: smaller at the edges. */
	size_t start[B2F_GRID_MAX_DIM];
	size_t extent[B2F_GRID_MAX_DIM];
};

static int grid_items(const struct b2f_filter_grid *grid, uint64_t *out,
		      struct b2f_why *why)
{
	uint64_t items = 1;

	if (!grid->ndim || grid->ndim > B2F_GRID_MAX_DIM)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "cells in %u dimensions", grid->ndim);
	for (unsigned int d = 0; d < grid->ndim; d++) {
		if (grid->blockshape[d] <= 0 ||
		    !b2f_mul_u64(items, (uint64_t)grid->blockshape[d], &items))
			return b2f_why_set(why, B2F_ECORRUPT,
					   "the block shape is impossible");
	}
	*out = items;
	return 0;
}

static int check_cells(const struct b2f_filter_block *block, uint8_t side,
		       size_t nbytes, struct b2f_why *why)
{
	uint64_t items = 0, size;
	int err;

	if (!block->grid || !block->schunk_typesize)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "a cell filter needs the array's geometry");
	err = grid_items(block->grid, &items, why);
	if (err)
		return err;
	if (!b2f_mul_u64(items, block->schunk_typesize, &size) ||
	    size != nbytes)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a block of %zu bytes is not of the array's "
				   "block shape",
				   nbytes);
	if (!side)
		return b2f_why_set(why, B2F_ECORRUPT, "cells of side 0");
	return 0;
}

static int ndmean_check(const struct b2f_filter_block *block, uint8_t meta,
			size_t nbytes, struct b2f_why *why)
{
	/* Its writer takes the byte as signed. */
	if (meta > 127)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "ndmean with cells of side %u", meta);
	return check_cells(block, meta, nbytes, why);
}

/* Steps to the next cell in C order; false after the last one. */
static bool next_cell(const struct b2f_filter_grid *grid, size_t side,
		      struct cell *cell)
{
	unsigned int d = grid->ndim;
	size_t shape, left;
	bool more = false;

	while (d > 0 && !more) {
		d--;
		shape = (size_t)grid->blockshape[d];
		cell->start[d] += cell->extent[d];
		more = cell->start[d] < shape;
		if (!more)
			cell->start[d] = 0;
		left = shape - cell->start[d];
		cell->extent[d] = left < side ? left : side;
	}
	return more;
}

/* Moves one cell from @src to its place in @dst; returns the bytes moved. */
static size_t move_cell(const struct b2f_filter_grid *grid,
			const struct cell *cell, size_t typesize,
			const uint8_t *src, uint8_t *dst)
{
	unsigned int rows_dim = grid->ndim - 1, d;
	size_t row = cell->extent[rows_dim] * typesize, moved = 0, item;
	size_t at[B2F_GRID_MAX_DIM] = {0};

	do {
		item = 0;
		for (d = 0; d < grid->ndim; d++)
			item = item * (size_t)grid->blockshape[d] +
			       cell->start[d] + at[d];
		memcpy(dst + item * typesize, src + moved, row);
		moved += row;
		/* The next row of the cell, if there is a carry left to do. */
		for (d = rows_dim; d > 0; d--) {
			if (++at[d - 1] < cell->extent[d - 1])
				break;
			at[d - 1] = 0;
		}
	} while (d > 0);
	return moved;
}

static void cells_decode(const struct b2f_filter_block *block, uint8_t meta,
			 const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	const struct b2f_filter_grid *grid = block->grid;
	struct cell cell = {0};
	size_t shape;

	(void)nbytes;
	for (unsigned int d = 0; d < grid->ndim; d++) {
		shape = (size_t)grid->blockshape[d];
		cell.extent[d] = shape < meta ? shape : meta;
	}
	do {
		src += move_cell(grid, &cell, block->schunk_typesize, src, dst);
	} while (next_cell(grid, meta, &cell));
}

const struct b2f_filter b2f_filter_ndcell = {
	.name = "ndcell",
	.id = B2F_FILTER_NDCELL,
	.kind = B2F_FILTER_MOVE,
	.check = check_cells,
	.decode = cells_decode,
};

const struct b2f_filter b2f_filter_ndmean = {
	.name = "ndmean",
	.id = B2F_FILTER_NDMEAN,
	.kind = B2F_FILTER_MOVE,
	.check = ndmean_check,
	.decode = cells_decode,
};
