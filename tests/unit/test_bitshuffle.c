/* SPDX-License-Identifier: BSD-3-Clause */
/* test_bitshuffle.c - the bit shuffle filter, every variant of it */
#include <criterion/criterion.h>

#include "codec/codec.h"
#include "filter/filter.h"
#include "filter/shuffle_impl.h"
#include "tests/unit/exact.h"

/* The reference: bit by bit, by docs/format.md 2.7.1; @n is a multiple of 8. */
static void bitshuffle(size_t typesize, const uint8_t *src, uint8_t *dst,
		       size_t n)
{
	memset(dst, 0, n * typesize);
	for (size_t row = 0; row < 8 * typesize; row++) {
		for (size_t i = 0; i < n; i++) {
			size_t byte = src[i * typesize + row / 8];
			size_t bit = byte >> row % 8 & 1;

			dst[row * (n / 8) + i / 8] |= (uint8_t)(bit << i % 8);
		}
	}
}

static void expect_back(const struct b2f_shuffle_variant *variant,
			size_t typesize, size_t nbytes)
{
	size_t n = nbytes / typesize / 8 * 8, whole = n * typesize;
	OWN(free) uint8_t *data = exact_noise(nbytes, typesize + nbytes);
	OWN(free) uint8_t *shuffled = exact_copy(data, nbytes);
	OWN(free) uint8_t *back = exact_new(nbytes, 0xee);

	bitshuffle(typesize, data, shuffled, n);
	memcpy(shuffled + whole, data + whole, nbytes - whole);
	b2f_bitshuffle_undo(variant, typesize, 5, shuffled, back, nbytes);
	cr_assert_eq(memcmp(back, data, nbytes), 0,
		     "%s type size %zu, %zu bytes", variant->name, typesize,
		     nbytes);
}

static void expect_all_lengths(const struct b2f_shuffle_variant *variant,
			       size_t typesize)
{
	static const size_t items[] = {0,   1,	 7,   8,   9,	 15,  16,
				       63,  64,	 120, 128, 255,	 256, 264,
				       511, 512, 520, 640, 1032, 2056};

	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
		expect_back(variant, typesize, items[i] * typesize);
		expect_back(variant, typesize,
			    items[i] * typesize + typesize - 1);
	}
}

Test(bitshuffle, every_variant_undoes_every_type_size)
{
	for (size_t i = 0; b2f_shuffle_variants[i]; i++) {
		if (!b2f_shuffle_variants[i]->supported())
			continue;
		for (size_t typesize = 1; typesize <= 40; typesize++)
			expect_all_lengths(b2f_shuffle_variants[i], typesize);
		expect_all_lengths(b2f_shuffle_variants[i], 255);
	}
}

Test(bitshuffle, every_variant_goes_from_tile_to_tile)
{
	for (size_t i = 0; b2f_shuffle_variants[i]; i++) {
		if (!b2f_shuffle_variants[i]->supported())
			continue;
		for (size_t typesize = 1; typesize <= 33; typesize++)
			expect_back(b2f_shuffle_variants[i], typesize,
				    typesize * 9000 + 3);
	}
}

Test(bitshuffle, the_stream_of_the_format_notes_decodes)
{
	static const uint8_t stream[] = {
		0x78, 0x5e, 0x5b, 0xb5, 0x0a, 0x08, 0xd2, 0x40, 0x60, 0x0b,
		0x08, 0x58, 0x1c, 0x07, 0xc2, 0x03, 0xec, 0xf6, 0x3f, 0x0e,
		0x30, 0xfc, 0xb0, 0x67, 0xf8, 0xcf, 0xc0, 0x70, 0xe0, 0x3f,
		0x90, 0x20, 0x01, 0x00, 0x00, 0xa2, 0x36, 0x12, 0xbd,
	};
	struct b2f_filter_block block = {.typesize = 2, .chunk_version = 5};
	struct b2f_codec_states states = {.dict = NULL};
	uint8_t bits[80], got[80];

	cr_assert_eq(
		b2f_codec_states_decode(&states, B2F_FORMAT_ZLIB,
					b2f_bytes_at(stream, sizeof(stream)),
					b2f_room_at(bits, sizeof(bits)), NULL),
		0);
	b2f_codec_states_fini(&states);
	b2f_filter_bitshuffle.decode(&block, 0, bits, got, sizeof(got));
	for (size_t i = 0; i < 40; i++) {
		cr_assert_eq(got[2 * i], 3 * i);
		cr_assert_eq(got[2 * i + 1], 0);
	}
}

Test(bitshuffle, an_uneven_number_of_items_in_version_2_is_left_alone)
{
	struct b2f_filter_block block = {.typesize = 4, .chunk_version = 2};
	OWN(free) uint8_t *src = exact_noise(4 * 20 + 1, 2);
	OWN(free) uint8_t *dst = exact_new(81, 0);

	b2f_filter_bitshuffle.decode(&block, 0, src, dst, 81);
	cr_assert_eq(memcmp(dst, src, 81), 0);
}

Test(bitshuffle, an_even_number_of_items_in_version_2_is_undone)
{
	struct b2f_filter_block block = {.typesize = 4, .chunk_version = 2};
	OWN(free) uint8_t *data = exact_noise(4 * 24, 3);
	OWN(free) uint8_t *src = exact_new(4 * 24 + 3, 9);
	OWN(free) uint8_t *dst = exact_new(4 * 24 + 3, 0);

	bitshuffle(4, data, src, 24);
	b2f_filter_bitshuffle.decode(&block, 0, src, dst, 4 * 24 + 3);
	cr_assert_eq(memcmp(dst, data, 4 * 24), 0);
	cr_assert_eq(memcmp(dst + 4 * 24, "\x09\x09\x09", 3), 0);
}
