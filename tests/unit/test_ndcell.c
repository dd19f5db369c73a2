/* SPDX-License-Identifier: BSD-3-Clause */
/* test_ndcell.c - the filters that store a block cell by cell */
#include <criterion/criterion.h>

#include "b2frame/error.h"
#include "filter/filter.h"
#include "tests/unit/exact.h"

static size_t items_of(const struct b2f_filter_grid *grid)
{
	size_t items = 1;

	for (unsigned int d = 0; d < grid->ndim; d++)
		items *= (size_t)grid->blockshape[d];
	return items;
}

/*
 * The position of @item in the order of cells: the items of earlier cells, and
 * the earlier items of its own cell, counted one by one.
 */
static size_t place_of(const struct b2f_filter_grid *grid, size_t side,
		       size_t item)
{
	size_t items = items_of(grid), place = 0;

	for (size_t other = 0; other < items; other++) {
		size_t a = item, b = other;
		int cell_order = 0;

		/* The last dimension first: earlier ones override it. */
		for (unsigned int d = grid->ndim; d-- > 0;) {
			size_t shape = (size_t)grid->blockshape[d];
			size_t ca = a % shape / side, cb = b % shape / side;

			if (cb != ca)
				cell_order = cb < ca ? -1 : 1;
			a /= shape;
			b /= shape;
		}
		if (cell_order < 0 || (!cell_order && other < item))
			place++;
	}
	return place;
}

static void expect_back(const struct b2f_filter_grid *grid, uint8_t side,
			uint32_t typesize)
{
	struct b2f_filter_block block = {
		.typesize = 1,
		.schunk_typesize = typesize,
		.chunk_version = 5,
		.grid = grid,
	};
	size_t items = items_of(grid), nbytes = items * typesize;
	OWN(free) uint8_t *data = exact_noise(nbytes, nbytes);
	OWN(free) uint8_t *cells = exact_new(nbytes, 0);
	OWN(free) uint8_t *back = exact_new(nbytes, 0xee);

	for (size_t i = 0; i < items; i++)
		memcpy(cells + place_of(grid, side, i) * typesize,
		       data + i * typesize, typesize);
	cr_assert_eq(b2f_filter_ndcell.check(&block, side, nbytes, NULL), 0);
	b2f_filter_ndcell.decode(&block, side, cells, back, nbytes);
	cr_assert_eq(memcmp(back, data, nbytes), 0);
	memset(back, 0xee, nbytes);
	cr_assert_eq(b2f_filter_ndmean.check(&block, side, nbytes, NULL), 0);
	b2f_filter_ndmean.decode(&block, side, cells, back, nbytes);
	cr_assert_eq(memcmp(back, data, nbytes), 0);
}

Test(ndcell, blocks_of_any_shape_come_back)
{
	static const struct b2f_filter_grid grids[] = {
		{1, {10}},
		{1, {9}},
		{2, {4, 6}},
		{2, {7, 5}},
		{2, {1, 30}},
		{2, {30, 2}},
		{3, {4, 5, 6}},
		{3, {3, 3, 3}},
		{4, {3, 4, 2, 5}},
		{5, {2, 3, 2, 3, 2}},
		{8, {2, 2, 2, 2, 2, 2, 2, 2}},
		{8, {1, 3, 1, 2, 1, 3, 1, 20}},
	};

	for (size_t g = 0; g < sizeof(grids) / sizeof(*grids); g++) {
		for (uint8_t side = 1; side <= 6; side++) {
			expect_back(&grids[g], side, 1);
			expect_back(&grids[g], side, 3);
			expect_back(&grids[g], side, 8);
		}
	}
}

Test(ndcell, types_wider_than_255_bytes_come_back)
{
	struct b2f_filter_grid grid = {2, {3, 4}};

	expect_back(&grid, 2, 300);
}

struct reject {
	struct b2f_filter_grid grid;
	uint32_t typesize;
	uint8_t meta;
	size_t nbytes;
	int err;
};

Test(ndcell, what_no_writer_makes_is_refused)
{
	static const struct reject rejects[] = {
		/* a cell of side 0 */
		{{2, {4, 4}}, 1, 0, 16, B2F_ECORRUPT},
		/* a length that does not fit the block shape */
		{{2, {4, 4}}, 1, 2, 15, B2F_ECORRUPT},
		{{2, {4, 4}}, 2, 2, 16, B2F_ECORRUPT},
		/* shapes that cannot be */
		{{2, {4, 0}}, 1, 2, 16, B2F_ECORRUPT},
		{{2, {-4, -4}}, 1, 2, 16, B2F_ECORRUPT},
		{{8,
		  {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX,
		   INT32_MAX, INT32_MAX, INT32_MAX}},
		 1,
		 2,
		 16,
		 B2F_ECORRUPT},
		/* dimensions beyond those of the filter */
		{{0, {4}}, 1, 2, 16, B2F_EUNSUPPORTED},
		{{9, {4, 4}}, 1, 2, 16, B2F_EUNSUPPORTED},
		/* no type size */
		{{2, {4, 4}}, 0, 2, 16, B2F_EUNSUPPORTED},
	};

	for (size_t i = 0; i < sizeof(rejects) / sizeof(*rejects); i++) {
		struct b2f_filter_block block = {
			.typesize = 1,
			.schunk_typesize = rejects[i].typesize,
			.grid = &rejects[i].grid,
		};
		struct b2f_why why = {""};

		cr_assert_eq(b2f_filter_ndcell.check(&block, rejects[i].meta,
						     rejects[i].nbytes, &why),
			     rejects[i].err, "row %zu", i);
		cr_assert_str_not_empty(why.text);
		cr_assert_eq(b2f_filter_ndmean.check(&block, rejects[i].meta,
						     rejects[i].nbytes, NULL),
			     rejects[i].err, "row %zu", i);
	}
}

Test(ndcell, a_frame_that_is_no_array_is_refused)
{
	struct b2f_filter_block block = {.typesize = 4, .schunk_typesize = 4};

	cr_assert_eq(b2f_filter_ndcell.check(&block, 2, 64, NULL),
		     B2F_EUNSUPPORTED);
}

Test(ndcell, the_side_of_ndmean_ends_at_127)
{
	struct b2f_filter_grid grid = {1, {1000}};
	struct b2f_filter_block block = {
		.typesize = 4,
		.schunk_typesize = 4,
		.grid = &grid,
	};

	cr_assert_eq(b2f_filter_ndmean.check(&block, 127, 4000, NULL), 0);
	cr_assert_eq(b2f_filter_ndmean.check(&block, 128, 4000, NULL),
		     B2F_ECORRUPT);
	cr_assert_eq(b2f_filter_ndcell.check(&block, 255, 4000, NULL), 0);
}
