/* SPDX-License-Identifier: BSD-3-Clause */
/* test_array_cells.c - ranges of arrays, against the place of every item */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "array/array_cells.h"
#include "tests/support/own.h"

static struct b2f_array make(unsigned int ndim, const int64_t *shape,
			     const int32_t *chunks, const int32_t *blocks)
{
	struct b2f_array a = {.ndim = ndim, .itemsize = 3};

	a.nitems = a.block_items = a.chunk_items = a.nchunks = 1;
	for (unsigned int i = 0; i < ndim; i++) {
		int64_t nblocks = (chunks[i] + blocks[i] - 1) / blocks[i];

		a.shape[i] = shape[i];
		a.chunkshape[i] = chunks[i];
		a.blockshape[i] = blocks[i];
		a.nitems *= (uint64_t)shape[i];
		a.block_items *= (uint64_t)blocks[i];
		a.chunk_items *= (uint64_t)(nblocks * blocks[i]);
		a.nchunks *=
			(uint64_t)((shape[i] + chunks[i] - 1) / chunks[i]);
	}
	return a;
}

static struct b2f_array make_random(unsigned int *seed)
{
	unsigned int ndim = (unsigned int)rand_r(seed) % 5;
	int64_t shape[5];
	int32_t chunks[5], blocks[5];

	for (unsigned int i = 0; i < ndim; i++) {
		shape[i] = 1 + rand_r(seed) % 9;
		chunks[i] = 1 + rand_r(seed) % 9;
		blocks[i] = 1 + rand_r(seed) % chunks[i];
	}
	return make(ndim, shape, chunks, blocks);
}

/* Checks that each item of the run @cell is where the format puts it. */
static void check_run(const struct b2f_array *a,
		      const struct b2f_array_cell *cell, uint8_t *seen)
{
	for (uint64_t i = 0; i < cell->nitems; i++) {
		struct b2f_array_piece p = b2f_array_locate(a, cell->item + i);
		uint64_t off = cell->chunk_off + i * a->itemsize;

		cr_assert_eq(p.nchunk, cell->nchunk);
		cr_assert_eq(p.chunk_off, off);
		cr_assert(off >= cell->block_off &&
			  off < cell->block_off + cell->block_nbytes);
		seen[cell->item + i]++;
	}
}

static void check_cells(const struct b2f_array_cells *cells, uint8_t *seen)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < cells->n; i++) {
		struct b2f_array_cell cell;

		b2f_array_cell_get(cells, i, &cell);
		do {
			check_run(cells->array, &cell, seen);
			n += cell.nitems;
		} while (b2f_array_cell_next(&cell));
	}
	cr_assert_eq(n, cells->nitems);
}

static void check_range(const struct b2f_array *a, uint64_t start, uint64_t end)
{
	OWN(free) uint8_t *seen = calloc(1, a->nitems);
	uint64_t at = start;

	while (at < end) {
		struct b2f_array_cells cells;

		b2f_array_cells_of(a, at, end, &cells);
		cr_assert_eq(cells.item, at);
		cr_assert(cells.nitems > 0 && cells.nitems <= end - at);
		check_cells(&cells, seen);
		at += cells.nitems;
	}
	for (uint64_t i = 0; i < a->nitems; i++)
		cr_assert_eq(seen[i], i >= start && i < end);
}

Test(array_cells, every_item_of_a_range_is_in_one_run)
{
	unsigned int seed = 1;

	for (int i = 0; i < 3000; i++) {
		struct b2f_array a = make_random(&seed);
		uint64_t start = (uint64_t)rand_r(&seed) % a.nitems;
		uint64_t n = (uint64_t)rand_r(&seed) % (a.nitems - start) + 1;

		check_range(&a, start, start + n);
		check_range(&a, 0, a.nitems);
	}
}

/* Is any item from @item on in the block of @cell? */
static bool goes_on(const struct b2f_array *a,
		    const struct b2f_array_cell *cell, uint64_t item)
{
	for (; item < a->nitems; item++) {
		struct b2f_array_piece p = b2f_array_locate(a, item);

		if (p.nchunk == cell->nchunk &&
		    p.chunk_off >= cell->block_off &&
		    p.chunk_off < cell->block_off + cell->block_nbytes)
			return true;
	}
	return false;
}

Test(array_cells, the_last_cell_of_a_block_says_so)
{
	unsigned int seed = 4;

	for (int i = 0; i < 300; i++) {
		struct b2f_array a = make_random(&seed);
		uint64_t item = (uint64_t)rand_r(&seed) % a.nitems;
		struct b2f_array_cells cells;

		b2f_array_cells_of(&a, item, a.nitems - (a.nitems - item) / 3,
				   &cells);
		for (uint64_t k = 0; k < cells.n; k++) {
			struct b2f_array_cell cell;

			b2f_array_cell_get(&cells, k, &cell);
			cr_assert_eq(cell.ends_block,
				     !goes_on(&a, &cell,
					      cells.item + cells.nitems));
		}
	}
}

Test(array_cells, the_chunks_have_every_item_once)
{
	unsigned int seed = 2;

	for (int i = 0; i < 500; i++) {
		struct b2f_array a = make_random(&seed);
		uint8_t *seen = calloc(1, a.nitems);

		for (uint64_t c = 0; c < a.nchunks; c++) {
			struct b2f_array_cells cells;

			b2f_array_cells_of_chunk(&a, c, &cells);
			check_cells(&cells, seen);
		}
		for (uint64_t k = 0; k < a.nitems; k++)
			cr_assert_eq(seen[k], 1);
		free(seen);
	}
}

Test(array_cells, a_range_of_rows_is_one_box)
{
	struct b2f_array_cells cells;
	struct b2f_array a = make(2, (int64_t[]){20, 10}, (int32_t[]){10, 5},
				  (int32_t[]){5, 5});

	b2f_array_cells_of(&a, 30, 60, &cells);
	cr_assert_eq(cells.nitems, 30);
	cr_assert_eq(cells.n, 4, "rows 3 to 5 cross two rows of blocks");
}

/* Is C order the order of storage?  Compares item by item. */
static bool is_linear(const struct b2f_array *a)
{
	for (uint64_t i = 0; i < a->nitems; i++) {
		struct b2f_array_piece p = b2f_array_locate(a, i);

		if (p.nchunk * a->chunk_items * a->itemsize + p.chunk_off !=
		    i * a->itemsize)
			return false;
	}
	return true;
}

Test(array_cells, linear_arrays_are_told_from_others)
{
	unsigned int seed = 3;
	int nlinear = 0;

	for (int i = 0; i < 20000; i++) {
		struct b2f_array a = make_random(&seed);
		bool linear = b2f_array_is_linear(&a);

		nlinear += linear;
		/*
		 * A linear array may be missed, by chance of its sizes, never a
		 * wrong one taken.
		 */
		if (linear)
			cr_assert(is_linear(&a), "case %d", i);
	}
	cr_assert_gt(nlinear, 1000);
}

Test(array_cells, rows_of_chunks_are_linear)
{
	struct b2f_array a;

	a = make(2, (int64_t[]){21, 10}, (int32_t[]){8, 10},
		 (int32_t[]){4, 10});
	cr_assert(b2f_array_is_linear(&a));
	a = make(2, (int64_t[]){21, 10}, (int32_t[]){1, 5}, (int32_t[]){1, 5});
	cr_assert(b2f_array_is_linear(&a));
	a = make(2, (int64_t[]){21, 10}, (int32_t[]){8, 10},
		 (int32_t[]){3, 10});
	cr_assert_not(b2f_array_is_linear(&a), "chunks have padding inside");
	a = make(2, (int64_t[]){21, 10}, (int32_t[]){8, 5}, (int32_t[]){8, 5});
	cr_assert_not(b2f_array_is_linear(&a));
}
