/* SPDX-License-Identifier: BSD-3-Clause */
/* test_array.c - the b2nd metalayer, and the positions of items */
#include <criterion/criterion.h>

#include "array/b2nd.h"
#include "base/bytes.h"
#include "tests/support/hex.h"
#include "tests/support/vectors.h"

static struct b2f_array parse_vector(void)
{
	struct hex raw = hex_new(HEX_B2ND_METALAYER);
	struct b2f_array a;

	cr_assert_eq(b2f_array_parse(raw.data, raw.size, 8, &a, NULL), 0);
	hex_free(&raw);
	return a;
}

Test(array, the_metalayer_of_a_matrix)
{
	struct b2f_array a = parse_vector();

	cr_assert_eq(a.ndim, 2);
	cr_assert_eq(a.shape[0], 37);
	cr_assert_eq(a.shape[1], 53);
	cr_assert_eq(a.chunkshape[1], 20);
	cr_assert_eq(a.blockshape[0], 4);
	cr_assert_eq(a.nitems, 37 * 53);
	cr_assert_eq(a.nchunks, 4 * 3);
	cr_assert_eq(a.block_items, 28);
	cr_assert_eq(a.chunk_items, 12 * 21, "padded to whole blocks");
	cr_assert_str_eq(a.dtype, "<f8");
	b2f_array_fini(&a);
}

/* The position of item @x by the formula of the format, index by index. */
static uint64_t place_of(const struct b2f_array *a, const int64_t *x,
			 uint64_t *nchunk)
{
	uint64_t chunk = 0, block = 0, item = 0;

	for (unsigned int i = 0; i < a->ndim; i++) {
		int64_t cs = a->chunkshape[i], bs = a->blockshape[i];
		int64_t y = x[i] % cs;

		chunk = chunk * (uint64_t)((a->shape[i] + cs - 1) / cs) +
			(uint64_t)(x[i] / cs);
		block = block * (uint64_t)((cs + bs - 1) / bs) +
			(uint64_t)(y / bs);
		item = item * (uint64_t)bs + (uint64_t)(y % bs);
	}
	*nchunk = chunk;
	return (block * a->block_items + item) * a->itemsize;
}

/* Counts @x up by one item in C order; false after the last one. */
static bool next_item(const struct b2f_array *a, int64_t *x)
{
	for (unsigned int i = a->ndim; i-- > 0;) {
		if (++x[i] < a->shape[i])
			return true;
		x[i] = 0;
	}
	return false;
}

static void compare_all(const struct b2f_array *a)
{
	int64_t x[B2F_ARRAY_MAX_DIM] = {0};
	uint64_t item = 0, nchunk, left = 0, expected = 0;
	struct b2f_array_piece p = {.nitems = 0};

	do {
		uint64_t off = place_of(a, x, &nchunk);

		if (left == 0) {
			p = b2f_array_locate(a, item);
			left = p.nitems;
			expected = p.chunk_off;
		}
		cr_assert_eq(p.nchunk, nchunk, "item %lu", item);
		cr_assert_eq(expected, off, "item %lu", item);
		expected += a->itemsize;
		left--;
		item++;
	} while (next_item(a, x));
	cr_assert_eq(item, a->nitems);
	cr_assert_eq(left, 0, "no run leaves its row");
}

Test(array, every_item_of_a_matrix_is_found)
{
	struct b2f_array a = parse_vector();

	compare_all(&a);
	b2f_array_fini(&a);
}

/* Writes the metalayer of an array; returns its length. */
static size_t write_metalayer(uint8_t *raw, unsigned int ndim,
			      const int64_t *shape, const int32_t *chunks,
			      const int32_t *blocks)
{
	size_t at = 0;

	raw[at++] = 0x97;
	raw[at++] = 0;
	raw[at++] = (uint8_t)ndim;
	raw[at++] = (uint8_t)(0x90 + ndim);
	for (unsigned int i = 0; i < ndim; i++, at += 9) {
		raw[at] = 0xd3;
		b2f_store_be64(raw + at + 1, (uint64_t)shape[i]);
	}
	for (int k = 0; k < 2; k++) {
		raw[at++] = (uint8_t)(0x90 + ndim);
		for (unsigned int i = 0; i < ndim; i++, at += 5) {
			raw[at] = 0xd2;
			b2f_store_be32(raw + at + 1,
				       (uint32_t)(k ? blocks : chunks)[i]);
		}
	}
	return at;
}

static int parse(unsigned int ndim, const int64_t *shape, const int32_t *chunks,
		 const int32_t *blocks, struct b2f_array *out)
{
	uint8_t raw[512];
	size_t n = write_metalayer(raw, ndim, shape, chunks, blocks);

	return b2f_array_parse(raw, n, 3, out, NULL);
}

static int parse_dims(uint8_t ndim)
{
	uint8_t raw[512] = {0x97, 0, ndim};
	struct b2f_array a;

	return b2f_array_parse(raw, sizeof(raw), 1, &a, NULL);
}

Test(array, every_item_of_four_dimensions_is_found)
{
	const int64_t shape[] = {5, 6, 7, 8};
	const int32_t chunks[] = {3, 4, 5, 3}, blocks[] = {2, 3, 2, 2};
	struct b2f_array a;

	cr_assert_eq(parse(4, shape, chunks, blocks, &a), 0);
	cr_assert_null(a.dtype, "caterva has none");
	compare_all(&a);
	b2f_array_fini(&a);
}

Test(array, no_dimensions_are_one_item)
{
	struct b2f_array a;
	struct b2f_array_piece p;

	cr_assert_eq(parse(0, NULL, NULL, NULL, &a), 0);
	cr_assert_eq(a.nitems, 1);
	cr_assert_eq(a.nchunks, 1);
	p = b2f_array_locate(&a, 0);
	cr_assert_eq(p.nchunk, 0);
	cr_assert_eq(p.chunk_off, 0);
	cr_assert_eq(p.nitems, 1);
}

Test(array, a_dimension_of_nothing_has_no_chunks)
{
	const int64_t shape[] = {0, 5};
	const int32_t chunks[] = {2, 5}, blocks[] = {1, 5}, none[] = {0, 0};
	struct b2f_array a;

	cr_assert_eq(parse(2, shape, chunks, blocks, &a), 0);
	cr_assert_eq(a.nitems, 0);
	cr_assert_eq(a.nchunks, 0);
	cr_assert_eq(parse(1, shape, none, none, &a), 0);
	cr_assert_eq(a.nitems, 0);
}

Test(array, geometry_that_cannot_be_is_refused)
{
	const int64_t ok[] = {4, 4}, negative[] = {4, -1};
	const int64_t huge[] = {INT64_MAX, INT64_MAX};
	const int32_t fine[] = {2, 2}, zero[] = {2, 0}, minus[] = {2, -2};
	const int32_t large[] = {INT32_MAX, INT32_MAX};
	struct b2f_array a;

	cr_assert_eq(parse(2, negative, fine, fine, &a), B2F_ECORRUPT);
	cr_assert_eq(parse(2, ok, zero, fine, &a), B2F_ECORRUPT);
	cr_assert_eq(parse(2, ok, fine, zero, &a), B2F_ECORRUPT);
	cr_assert_eq(parse(2, ok, minus, fine, &a), B2F_ECORRUPT);
	cr_assert_eq(parse(2, huge, fine, fine, &a), B2F_ECORRUPT);
	cr_assert_eq(parse(2, ok, large, large, &a), B2F_ECORRUPT);
	cr_assert_eq(parse_dims(17), B2F_ECORRUPT);
}

Test(array, every_prefix_is_refused_but_the_one_without_a_dtype)
{
	OWN_HEX struct hex raw = hex_new(HEX_B2ND_METALAYER);

	for (size_t n = 0; n < raw.size; n++) {
		uint8_t *part = malloc(n + 1);
		struct b2f_array a;
		int err;

		memcpy(part, raw.data, n);
		err = b2f_array_parse(part, n, 8, &a, NULL);
		cr_assert_eq(err, n == raw.size - 9 ? 0 : B2F_ECORRUPT,
			     "%zu bytes: %d", n, err);
		free(part);
	}
}
