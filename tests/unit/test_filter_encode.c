/* SPDX-License-Identifier: BSD-3-Clause */
/* test_filter_encode.c - filters applied by every variant, and undone */
#include <criterion/criterion.h>

#include "filter/pipeline.h"
#include "filter/shuffle_impl.h"
#include "tests/unit/exact.h"

static const size_t items[] = {0,  1,  2,  7,  8,   15,	 16,  17,  31,	32,
			       33, 63, 64, 65, 127, 128, 129, 200, 511, 1000};
#define ITEMS (sizeof(items) / sizeof(*items))

typedef void apply_fn(const struct b2f_shuffle_variant *variant, size_t width,
		      const uint8_t *src, uint8_t *dst, size_t nbytes);

static void bitshuffle_undo(const struct b2f_shuffle_variant *variant,
			    size_t width, const uint8_t *src, uint8_t *dst,
			    size_t nbytes)
{
	b2f_bitshuffle_undo(variant, width, 5, src, dst, nbytes);
}

/* The scalar variant undoes what @variant applies. */
static void expect_back(const struct b2f_shuffle_variant *variant,
			apply_fn *apply, apply_fn *undo, size_t width,
			size_t nbytes)
{
	OWN(free) uint8_t *data = exact_noise(nbytes, width + nbytes);
	OWN(free) uint8_t *made = exact_new(nbytes, 0xdd);
	OWN(free) uint8_t *back = exact_new(nbytes, 0xee);

	apply(variant, width, data, made, nbytes);
	undo(&b2f_shuffle_scalar, width, made, back, nbytes);
	cr_assert_eq(memcmp(back, data, nbytes), 0, "%s width %zu, %zu bytes",
		     variant->name, width, nbytes);
}

static void expect_all(apply_fn *apply, apply_fn *undo)
{
	for (size_t v = 0; b2f_shuffle_variants[v]; v++) {
		if (!b2f_shuffle_variants[v]->supported())
			continue;
		for (size_t width = 1; width <= 40; width++) {
			for (size_t i = 0; i < ITEMS; i++) {
				expect_back(b2f_shuffle_variants[v], apply,
					    undo, width, items[i] * width);
				expect_back(b2f_shuffle_variants[v], apply,
					    undo, width,
					    items[i] * width + width - 1);
			}
		}
		expect_back(b2f_shuffle_variants[v], apply, undo, 255, 40000);
	}
}

Test(filter_encode, every_variant_shuffles_every_width)
{
	expect_all(b2f_shuffle_apply, b2f_shuffle_undo);
}

Test(filter_encode, every_variant_shuffles_the_bits_of_every_width)
{
	expect_all(b2f_bitshuffle_apply, bitshuffle_undo);
}

/* Blocks above one tile of the bit shuffle. */
Test(filter_encode, large_blocks_are_done_tile_by_tile)
{
	for (size_t v = 0; b2f_shuffle_variants[v]; v++) {
		if (!b2f_shuffle_variants[v]->supported())
			continue;
		for (size_t width = 1; width <= 33; width += 4)
			expect_back(b2f_shuffle_variants[v],
				    b2f_bitshuffle_apply, bitshuffle_undo,
				    width, 100003);
	}
}

static void expect_pipeline(const struct b2f_pipeline *pipeline,
			    const struct b2f_filter_block *block, size_t nbytes)
{
	OWN(free) uint8_t *data = exact_noise(nbytes, nbytes);
	OWN(free) uint8_t *src = exact_copy(data, nbytes);
	OWN(free) uint8_t *a = exact_new(nbytes, 0), *b = exact_new(nbytes, 0);
	OWN(free) uint8_t *dst = exact_new(nbytes, 0);
	OWN(free) uint8_t *tmp = exact_new(nbytes, 0);
	const uint8_t *made =
		b2f_pipeline_encode(pipeline, block, src, a, b, nbytes);

	cr_assert_eq(memcmp(src, data, nbytes), 0, "the input was written to");
	cr_assert_eq(b2f_pipeline_check(pipeline, block, nbytes, NULL), 0);
	memcpy(b2f_pipeline_start(pipeline, dst, tmp), made, nbytes);
	b2f_pipeline_decode(pipeline, block, dst, tmp, nbytes);
	cr_assert_eq(memcmp(dst, data, nbytes), 0);
}

Test(filter_encode, every_pair_of_filters_comes_back)
{
	static const uint8_t ids[] = {0, 1, 2, 35};

	for (unsigned int k = 0; k < 16; k++) {
		struct b2f_pipeline pipeline = {{0, ids[k / 4], 0, ids[k % 4]},
						{0, 3, 0, 3}};

		for (unsigned int typesize = 1; typesize < 20; typesize++) {
			struct b2f_filter_block block = {
				.typesize = typesize,
				.chunk_version = 5,
			};

			expect_pipeline(&pipeline, &block, 1);
			expect_pipeline(&pipeline, &block, 1003);
			expect_pipeline(&pipeline, &block, 3000);
		}
	}
}

Test(filter_encode, six_filters_leave_the_input_alone)
{
	struct b2f_pipeline pipeline = {{1, 2, 1, 35, 1, 2},
					{0, 0, 0, 4, 7, 0}};
	struct b2f_filter_block block = {.typesize = 4, .chunk_version = 5};

	expect_pipeline(&pipeline, &block, 5000);
}

Test(filter_encode, what_has_no_encoder_is_left_out)
{
	struct b2f_pipeline wanted = {{1, 32, 33, 4, 99, 36},
				      {2, 4, 4, 9, 0, 3}};
	struct b2f_pipeline out;

	cr_assert_not(b2f_pipeline_encodable(&wanted, 4, 4, false, &out));
	cr_assert_eq(memcmp(out.filter, "\1\0\0\0\0\0", 6), 0);
	cr_assert_eq(memcmp(out.meta, "\2\0\0\0\0\0", 6), 0);
	cr_assert_not(b2f_pipeline_encodable(&wanted, 4, 4, true, &out));
	cr_assert_eq(memcmp(out.filter, "\1\0\0\4\0\x24", 6), 0);
}

/* C-Blosc2 reads wrong data from parts of chunks with delta. */
Test(filter_encode, delta_is_left_out)
{
	struct b2f_pipeline wanted = {{3, 1, 3, 0, 2}, {0}}, out;

	cr_assert_not(b2f_pipeline_encodable(&wanted, 4, 4, false, &out));
	cr_assert_eq(memcmp(out.filter, "\0\1\0\0\2\0", 6), 0);
}

Test(filter_encode, precision_that_cannot_be_dropped_is_left_out)
{
	struct b2f_pipeline wanted = {{4}, {10}}, out;

	cr_assert(b2f_pipeline_encodable(&wanted, 4, 4, true, &out));
	cr_assert_not(b2f_pipeline_encodable(&wanted, 2, 2, true, &out));
	wanted.meta[0] = 24;
	cr_assert_not(b2f_pipeline_encodable(&wanted, 4, 4, true, &out));
	cr_assert(b2f_pipeline_encodable(&wanted, 8, 8, true, &out));
	wanted.meta[0] = (uint8_t)-23;
	cr_assert_not(b2f_pipeline_encodable(&wanted, 4, 4, true, &out));
}
