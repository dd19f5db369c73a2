/* SPDX-License-Identifier: BSD-3-Clause */
/* delta.c - the delta filter: XOR with block 0, or with the unit before */
#include "filter/filter.h"

#include <string.h>

#include "base/bytes.h"

/* Bytes that are one unit for this filter: 1, 2, 4 or 8. */
static size_t unit_size(unsigned int typesize)
{
	if (typesize == 2 || typesize == 4)
		return typesize;
	return typesize % 8 ? 1 : 8;
}

static void xor_block(const uint8_t *ref, uint8_t *data, size_t size)
{
	uint64_t a, b;
	size_t i;

	for (i = 0; i + 8 <= size; i += 8) {
		memcpy(&a, data + i, 8);
		memcpy(&b, ref + i, 8);
		a ^= b;
		memcpy(data + i, &a, 8);
	}
	for (; i < size; i++)
		data[i] ^= ref[i];
}

/*
 * Each unit of @x XORed with all the units below it, the first in memory being
 * the lowest.
 */
static uint64_t xor_below(uint64_t x, size_t unit)
{
	if (unit <= 1)
		x ^= x << 8;
	if (unit <= 2)
		x ^= x << 16;
	if (unit <= 4)
		x ^= x << 32;
	return x;
}

/* Copies the highest unit of @x to every unit. */
static uint64_t spread_top(uint64_t x, size_t unit)
{
	switch (unit) {
	case 1:
		return (x >> 56) * UINT64_C(0x0101010101010101);
	case 2:
		return (x >> 48) * UINT64_C(0x0001000100010001);
	case 4:
		return (x >> 32) * UINT64_C(0x0000000100000001);
	default:
		return x;
	}
}

/*
 * Works on eight bytes at a time: each step depends on the one before by a
 * single XOR, not by one per unit.
 */
static void xor_running(uint8_t *data, size_t unit, size_t size)
{
	uint64_t last = 0, x;
	size_t i;

	for (i = 0; i + 8 <= size; i += 8) {
		x = xor_below(b2f_load_le64(data + i), unit);
		b2f_store_le64(data + i, x ^ last);
		last ^= spread_top(x, unit);
	}
	if (i < unit)
		i = unit;
	for (; i < size; i++)
		data[i] ^= data[i - unit];
}

static void delta_decode(const struct b2f_filter_block *block, uint8_t meta,
			 const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	size_t unit = unit_size(block->typesize);
	size_t whole = nbytes - nbytes % unit;

	(void)meta;
	(void)src; /* the same as @dst */
	if (block->ref)
		xor_block(block->ref, dst, whole);
	else
		xor_running(dst, unit, whole);
}

/*
 * There is no encoder: C-Blosc2 reads other data than were encoded if it reads
 * a part of such a chunk, or decodes the blocks in several threads.
 */
const struct b2f_filter b2f_filter_delta = {
	.name = "delta",
	.id = B2F_FILTER_DELTA,
	.kind = B2F_FILTER_IN_PLACE,
	.decode = delta_decode,
};
