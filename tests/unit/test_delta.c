/* SPDX-License-Identifier: BSD-3-Clause */
/* test_delta.c - the delta filter */
#include <criterion/criterion.h>

#include "filter/filter.h"
#include "tests/unit/exact.h"

static const size_t typesizes[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 255};
static const size_t lengths[] = {1, 2, 3, 7, 8, 9, 16, 40, 100, 1003};

static size_t unit_of(size_t typesize)
{
	if (typesize == 2 || typesize == 4)
		return typesize;
	return typesize % 8 ? 1 : 8;
}

static void undo(size_t typesize, const uint8_t *ref, uint8_t *data, size_t n)
{
	struct b2f_filter_block block = {
		.typesize = (unsigned int)typesize,
		.chunk_version = 5,
		.ref = ref,
	};

	b2f_filter_delta.decode(&block, 0, data, data, n);
}

static void expect_block_0(size_t typesize, size_t n)
{
	size_t unit = unit_of(typesize), whole = n / unit * unit;
	OWN(free) uint8_t *data = exact_noise(n, typesize + n);
	OWN(free) uint8_t *delta = exact_copy(data, n);

	for (size_t i = unit; i < whole; i++)
		delta[i] = data[i] ^ data[i - unit];
	undo(typesize, NULL, delta, n);
	cr_assert_eq(memcmp(delta, data, n), 0, "type size %zu, %zu bytes",
		     typesize, n);
}

static void expect_block_1(size_t typesize, size_t n)
{
	size_t unit = unit_of(typesize), whole = n / unit * unit;
	OWN(free) uint8_t *data = exact_noise(n, typesize + n);
	OWN(free) uint8_t *delta = exact_copy(data, n);
	OWN(free) uint8_t *ref = exact_noise(n, 77);

	for (size_t i = 0; i < whole; i++)
		delta[i] = data[i] ^ ref[i];
	undo(typesize, ref, delta, n);
	cr_assert_eq(memcmp(delta, data, n), 0, "type size %zu, %zu bytes",
		     typesize, n);
}

Test(delta, block_0_is_undone_with_itself)
{
	for (size_t t = 0; t < sizeof(typesizes) / sizeof(*typesizes); t++) {
		for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
			expect_block_0(typesizes[t], lengths[i]);
	}
}

Test(delta, later_blocks_are_undone_with_block_0)
{
	for (size_t t = 0; t < sizeof(typesizes) / sizeof(*typesizes); t++) {
		for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
			expect_block_1(typesizes[t], lengths[i]);
	}
}

Test(delta, the_blocks_of_the_format_notes_decode)
{
	/* 1000..1009, the first unchanged; then 1010, 1011 with block 0. */
	uint8_t first[] = {0xe8, 0x03, 0, 0, 0x01, 0, 0, 0, 0x03, 0, 0, 0};
	uint8_t second[] = {0x1a, 0, 0, 0, 0x1a, 0, 0, 0};

	undo(4, NULL, first, sizeof(first));
	cr_assert_eq(memcmp(first, "\xe8\x03\0\0\xe9\x03\0\0\xea\x03\0\0", 12),
		     0);
	undo(4, first, second, sizeof(second));
	cr_assert_eq(memcmp(second, "\xf2\x03\0\0\xf3\x03\0\0", 8), 0);
}

Test(delta, bytes_after_the_last_unit_stay_as_stored)
{
	uint8_t data[] = {1, 0, 0, 0, 1, 0, 0, 0, 7, 8, 9};

	undo(4, NULL, data, sizeof(data));
	cr_assert_eq(data[4], 0);
	cr_assert_eq(memcmp(data + 8, "\x07\x08\x09", 3), 0);
}
