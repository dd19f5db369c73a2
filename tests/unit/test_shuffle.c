/* SPDX-License-Identifier: BSD-3-Clause */
/* test_shuffle.c - the byte shuffle filter, every variant of it */
#include <criterion/criterion.h>

#include "filter/filter.h"
#include "filter/shuffle_impl.h"
#include "tests/unit/exact.h"

static void shuffle(size_t width, const uint8_t *src, uint8_t *dst,
		    size_t nbytes)
{
	size_t n = nbytes / width;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < width; j++)
			dst[j * n + i] = src[i * width + j];
	}
	memcpy(dst + n * width, src + n * width, nbytes - n * width);
}

static void expect_back(const struct b2f_shuffle_variant *variant, size_t width,
			size_t nbytes)
{
	OWN(free) uint8_t *data = exact_noise(nbytes, width + nbytes);
	OWN(free) uint8_t *shuffled = exact_new(nbytes, 0);
	OWN(free) uint8_t *back = exact_new(nbytes, 0xee);

	shuffle(width, data, shuffled, nbytes);
	b2f_shuffle_undo(variant, width, shuffled, back, nbytes);
	cr_assert_eq(memcmp(back, data, nbytes), 0, "%s width %zu, %zu bytes",
		     variant->name, width, nbytes);
}

static void expect_all_lengths(const struct b2f_shuffle_variant *variant,
			       size_t width)
{
	static const size_t items[] = {0,   1,	 2,   7,   15,	16,  17,  31,
				       32,  33,	 63,  64,  65,	79,  127, 128,
				       129, 191, 192, 200, 256, 1000};

	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
		expect_back(variant, width, items[i] * width);
		expect_back(variant, width, items[i] * width + width - 1);
	}
}

Test(shuffle, every_variant_undoes_every_width)
{
	for (size_t i = 0; b2f_shuffle_variants[i]; i++) {
		if (!b2f_shuffle_variants[i]->supported())
			continue;
		for (size_t width = 1; width <= 40; width++)
			expect_all_lengths(b2f_shuffle_variants[i], width);
		expect_all_lengths(b2f_shuffle_variants[i], 254);
		expect_all_lengths(b2f_shuffle_variants[i], 255);
	}
}

Test(shuffle, the_planes_of_others_are_left_alone)
{
	OWN(free) uint8_t *planes = exact_noise(7 * 300, 5);
	OWN(free) uint8_t *dst = exact_new(9 * 300, 0xee);
	struct b2f_planes some = {.data = planes, .stride = 300, .count = 7};

	for (size_t i = 0; b2f_shuffle_variants[i]; i++) {
		if (!b2f_shuffle_variants[i]->supported())
			continue;
		memset(dst, 0xee, 9 * 300);
		b2f_shuffle_variants[i]->unshuffle(&some, dst, 9, 300);
		for (size_t k = 0; k < 9 * 300; k++)
			cr_assert_eq(dst[k],
				     k % 9 < 7 ? planes[k % 9 * 300 + k / 9]
					       : 0xee);
	}
}

Test(shuffle, the_best_variant_is_one_that_the_machine_has)
{
	cr_assert(b2f_shuffle_best()->supported());
}

Test(shuffle, meta_0_takes_the_type_size)
{
	static const uint8_t src[] = {0, 2, 4, 1, 3, 5, 6};
	static const uint8_t want[] = {0, 1, 2, 3, 4, 5, 6};
	struct b2f_filter_block block = {.typesize = 2, .chunk_version = 5};
	uint8_t dst[7];

	b2f_filter_shuffle.decode(&block, 0, src, dst, sizeof(dst));
	cr_assert_eq(memcmp(dst, want, sizeof(dst)), 0);
}

Test(shuffle, meta_is_the_width_of_an_element)
{
	static const uint8_t src[] = {0, 3, 1, 4, 2, 5, 6};
	static const uint8_t want[] = {0, 1, 2, 3, 4, 5, 6};
	struct b2f_filter_block block = {.typesize = 2, .chunk_version = 5};
	uint8_t dst[7];

	b2f_filter_shuffle.decode(&block, 3, src, dst, sizeof(dst));
	cr_assert_eq(memcmp(dst, want, sizeof(dst)), 0);
}

Test(shuffle, a_width_beyond_the_block_copies_it)
{
	struct b2f_filter_block block = {.typesize = 255, .chunk_version = 5};
	OWN(free) uint8_t *src = exact_noise(254, 1), *dst = exact_new(254, 0);

	b2f_filter_shuffle.decode(&block, 0, src, dst, 254);
	cr_assert_eq(memcmp(dst, src, 254), 0);
}

/* Planes in buffers of their own, of the exact size. */
static void compare_gather(const struct b2f_shuffle_variant *variant,
			   size_t width, size_t nitems)
{
	uint8_t *planes[8] = {NULL}, *got = malloc(width * nitems + 1);

	for (size_t j = 0; j < width; j++) {
		planes[j] = malloc(nitems + 1);
		for (size_t i = 0; i < nitems; i++)
			planes[j][i] = (uint8_t)(i * 7 + j * 31 + i / 251);
	}
	b2f_shuffle_gather(variant, (const uint8_t *const *)planes, width, got,
			   nitems);
	for (size_t i = 0; i < nitems; i++)
		for (size_t j = 0; j < width; j++)
			cr_assert_eq(got[i * width + j], planes[j][i],
				     "%s, width %zu, item %zu of %zu",
				     variant->name, width, i, nitems);
	for (size_t j = 0; j < width; j++)
		free(planes[j]);
	free(got);
}

Test(shuffle, planes_are_gathered_from_anywhere)
{
	static const size_t widths[] = {2, 4, 8};

	for (size_t v = 0; b2f_shuffle_variants[v]; v++) {
		if (!b2f_shuffle_variants[v]->supported())
			continue;
		for (size_t w = 0; w < 3; w++) {
			for (size_t n = 0; n < 200; n++)
				compare_gather(b2f_shuffle_variants[v],
					       widths[w], n);
			compare_gather(b2f_shuffle_variants[v], widths[w],
				       65536 + 63);
		}
	}
}
