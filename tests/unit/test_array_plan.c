/* SPDX-License-Identifier: BSD-3-Clause */
/* test_array_plan.c - chunks and blocks of new arrays */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "array/b2nd.h"
#include "tests/support/own.h"

#define MIB ((uint64_t)1 << 20)

struct request {
	unsigned int ndim;
	int64_t shape[B2F_ARRAY_MAX_DIM];
	uint32_t itemsize;
	uint64_t chunk_bytes;
	uint64_t block_bytes;
};

static int64_t extent(int64_t n)
{
	return n > 0 ? n : 1;
}

/* The items of a chunk or block in dimension @first and the later ones. */
static uint64_t product(const int32_t *shape, unsigned int first,
			unsigned int ndim)
{
	uint64_t n = 1;

	for (unsigned int i = first; i < ndim; i++)
		n *= (uint64_t)shape[i];
	return n;
}

/* A slab is one item thick, then a part of one dimension, then whole ones. */
static void expect_slab(const struct b2f_array *a, const int32_t *slab)
{
	unsigned int i = 0;

	while (i < a->ndim && slab[i] == 1)
		i++;
	for (i++; i < a->ndim; i++)
		cr_assert_eq(slab[i], extent(a->shape[i]), "dimension %u", i);
}

static void expect_valid(const struct b2f_array *a)
{
	for (unsigned int i = 0; i < a->ndim; i++) {
		cr_assert_geq(a->blockshape[i], 1);
		cr_assert_leq(a->blockshape[i], a->chunkshape[i]);
		cr_assert_leq(a->chunkshape[i], extent(a->shape[i]));
	}
	expect_slab(a, a->chunkshape);
	expect_slab(a, a->blockshape);
}

/* The parser, with all its checks, computes the same products. */
static void expect_parsed(const struct b2f_array *a)
{
	struct b2f_array back;
	OWN(free) uint8_t *raw;
	size_t size;

	cr_assert_eq(b2f_array_write(a, &raw, &size), 0);
	cr_assert_eq(b2f_array_parse(raw, size, a->itemsize, &back, NULL), 0);
	cr_assert_eq(back.nitems, a->nitems);
	cr_assert_eq(back.nchunks, a->nchunks);
	cr_assert_eq(back.chunk_items, a->chunk_items);
	cr_assert_eq(back.block_items, a->block_items);
	b2f_array_fini(&back);
}

/* Checks the upper bound, and the lower bound if there are enough items. */
static void expect_sizes(const struct b2f_array *a, const struct request *r)
{
	uint64_t chunk = product(a->chunkshape, 0, a->ndim) * a->itemsize;
	uint64_t block = product(a->blockshape, 0, a->ndim) * a->itemsize;
	uint64_t padded = a->chunk_items * a->itemsize;

	cr_assert(chunk <= r->chunk_bytes || chunk == a->itemsize);
	cr_assert(block <= 2 * r->block_bytes || block == a->itemsize);
	cr_assert_leq(padded, chunk + chunk / 4 + 2 * block,
		      "%lu of %lu are padding", padded - chunk, padded);
}

static struct b2f_array plan(struct request r)
{
	struct b2f_array a;

	cr_assert_eq(b2f_array_plan(r.ndim, r.shape, r.itemsize, r.chunk_bytes,
				    r.block_bytes, &a),
		     0);
	cr_assert_null(a.dtype);
	expect_valid(&a);
	expect_parsed(&a);
	expect_sizes(&a, &r);
	return a;
}

Test(array_plan, a_vector_is_cut_into_equal_chunks)
{
	struct b2f_array a =
		plan((struct request){1, {1000000000}, 8, 4 * MIB, MIB / 4});

	cr_assert_eq(a.blockshape[0], 32768);
	cr_assert_eq(a.chunkshape[0], 524288);
	cr_assert_eq(a.chunk_items, 524288, "no inner padding");
}

Test(array_plan, a_matrix_is_cut_into_rows)
{
	struct b2f_array a = plan(
		(struct request){3, {1000, 300, 50}, 8, 32 * MIB, 2 * MIB});

	cr_assert_eq(a.chunkshape[1], 300);
	cr_assert_eq(a.chunkshape[2], 50);
	cr_assert_eq(a.chunkshape[0] % a.blockshape[0], 0);
	cr_assert_eq(a.blockshape[1], 300);
	cr_assert_eq(a.chunk_items, product(a.chunkshape, 0, 3));
}

Test(array_plan, long_rows_are_cut_along_the_next_dimension)
{
	struct b2f_array a =
		plan((struct request){2, {4, 100000000}, 8, 32 * MIB, 2 * MIB});

	cr_assert_eq(a.chunkshape[0], 1);
	cr_assert_eq(a.blockshape[0], 1);
	cr_assert_leq(100000000 - 23 * (int64_t)a.chunkshape[1],
		      a.chunkshape[1]);
	cr_assert_eq(a.nchunks, 4 * 24);
	cr_assert_leq(24 * (int64_t)a.chunkshape[1] - 100000000,
		      a.blockshape[1] * 24, "little padding at the end");
}

Test(array_plan, blocks_divide_rows_if_rows_have_a_divisor)
{
	struct b2f_array a =
		plan((struct request){2, {1000, 1000}, 4, 400000, 1000});

	cr_assert_eq(a.chunkshape[0], 100);
	cr_assert_eq(a.blockshape[0], 1);
	cr_assert_eq(1000 % a.blockshape[1], 0);
	cr_assert_eq(a.blockshape[1], 250);
}

Test(array_plan, prime_rows_are_padded_a_little)
{
	struct b2f_array a =
		plan((struct request){2, {50, 1000003}, 1, 16 * MIB, 65536});

	cr_assert_eq(a.chunkshape[1], 1000003);
	cr_assert_leq(a.chunk_items, product(a.chunkshape, 0, 2) +
					     16 * (uint64_t)a.chunkshape[0]);
}

Test(array_plan, a_small_array_is_one_chunk)
{
	struct b2f_array a =
		plan((struct request){2, {37, 53}, 8, 4 * MIB, MIB / 4});

	cr_assert_eq(a.nchunks, 1);
	cr_assert_eq(a.chunk_items, 37 * 53);
	cr_assert_eq(a.block_items, 37 * 53);
}

Test(array_plan, no_dimensions_are_one_item)
{
	struct b2f_array a = plan((struct request){0, {0}, 8, MIB, MIB});

	cr_assert_eq(a.nchunks, 1);
	cr_assert_eq(a.chunk_items, 1);
}

Test(array_plan, an_array_of_nothing_has_chunks_of_something)
{
	struct b2f_array a =
		plan((struct request){3, {5, 0, 7}, 8, MIB, MIB / 4});

	cr_assert_eq(a.nchunks, 0);
	cr_assert_eq(a.nitems, 0);
	cr_assert_eq(a.chunk_items, 35);
}

Test(array_plan, a_large_item_is_a_chunk)
{
	struct b2f_array a =
		plan((struct request){2, {3, 4}, 100000, 1000, 100});

	cr_assert_eq(a.nchunks, 12);
	cr_assert_eq(a.chunk_items, 1);
	a = plan((struct request){
		1, {3}, B2F_ARRAY_MAX_ITEMSIZE, UINT64_MAX, UINT64_MAX});
	cr_assert_eq(a.block_items, 1);
}

Test(array_plan, sixteen_dimensions)
{
	struct request r = {.ndim = 16,
			    .itemsize = 3,
			    .chunk_bytes = 5000,
			    .block_bytes = 300};

	for (unsigned int i = 0; i < 16; i++)
		r.shape[i] = 2 + i % 2;
	plan(r);
}

Test(array_plan, any_sizes_give_a_valid_plan)
{
	unsigned int seed = 3;

	for (int round = 0; round < 20000; round++) {
		struct request r = {.ndim = (unsigned int)(rand_r(&seed) % 5)};
		uint64_t left = (uint64_t)1 << 36;

		for (unsigned int i = 0; i < r.ndim; i++) {
			uint64_t most = (uint64_t)1 << rand_r(&seed) % 30;
			uint64_t n = (uint64_t)rand_r(&seed) % most;

			r.shape[i] = n < left ? (int64_t)n : 1;
			left /= (uint64_t)extent(r.shape[i]);
		}
		r.itemsize = 1u << rand_r(&seed) % 10;
		r.itemsize += (uint32_t)rand_r(&seed) % r.itemsize;
		/* Smaller chunks would be too many for arrays of that size. */
		r.chunk_bytes = (MIB << rand_r(&seed) % 12) + 13;
		r.block_bytes = (r.chunk_bytes >> rand_r(&seed) % 12) + 7;
		plan(r);
	}
}

static int error_of(struct request r)
{
	struct b2f_array a;

	return b2f_array_plan(r.ndim, r.shape, r.itemsize, r.chunk_bytes,
			      r.block_bytes, &a);
}

Test(array_plan, what_makes_no_sense_is_refused)
{
	cr_assert_eq(error_of((struct request){17, {1}, 1, 1, 1}), -EINVAL);
	cr_assert_eq(error_of((struct request){1, {-1}, 1, 1, 1}), -EINVAL);
	cr_assert_eq(error_of((struct request){1, {1}, 0, 1, 1}), -EINVAL);
	cr_assert_eq(error_of((struct request){1, {1}, 1, 0, 1}), -EINVAL);
	cr_assert_eq(error_of((struct request){1, {1}, 1, 1, 0}), -EINVAL);
}

Test(array_plan, what_the_format_cannot_hold_is_too_big)
{
	const int64_t huge = INT64_C(1) << 62;

	cr_assert_eq(error_of((struct request){1, {1}, 536866817, MIB, MIB}),
		     B2F_ETOOBIG);
	cr_assert_eq(error_of((struct request){1, {huge}, 8, MIB, MIB}),
		     B2F_ETOOBIG);
	cr_assert_eq(error_of((struct request){2, {huge, huge}, 1, MIB, MIB}),
		     B2F_ETOOBIG);
	cr_assert_eq(error_of((struct request){1, {1000000000}, 1, 1, 1}),
		     B2F_ETOOBIG, "more chunks than an index can hold");
}
