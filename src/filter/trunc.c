/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trunc.c - the filters that drop bits for good: trunc_prec and int_trunc
 *
 * Decoding has nothing to do, so it takes any meta byte.  Items have the byte
 * order of the machine, as in C-Blosc2.
 */
#include "filter/filter.h"

#include <string.h>

/*
 * The number of low bits, of @width, to drop.  The parameter is signed: the
 * bits to keep, or, if negative, to drop.  Returns a negative number if it is
 * impossible.
 */
static int dropped_bits(int width, uint8_t meta)
{
	int signed_meta = meta < 128 ? meta : meta - 256;
	int drop = signed_meta >= 0 ? width - signed_meta : -signed_meta;

	return drop < width ? drop : -1;
}

/* Bits of the mantissa; 0 if such items are no floating-point numbers. */
static int mantissa(unsigned int typesize)
{
	return typesize == 4 ? 23 : typesize == 8 ? 52 : 0;
}

static int integer(unsigned int typesize)
{
	bool known = typesize == 1 || typesize == 2 || typesize == 4 ||
		     typesize == 8;

	return known ? 8 * (int)typesize : 0;
}

static bool trunc_prec_encodable(unsigned int typesize, uint8_t meta)
{
	return dropped_bits(mantissa(typesize), meta) >= 0;
}

static bool int_trunc_encodable(unsigned int typesize, uint8_t meta)
{
	return dropped_bits(integer(typesize), meta) >= 0;
}

/* Zeroes the @drop low bits of every item. */
static void drop_bits(unsigned int typesize, int drop, const uint8_t *src,
		      uint8_t *dst, size_t nbytes)
{
	const uint64_t low = (UINT64_C(1) << drop) - 1;
	uint8_t keep[8];
	const uint8_t k1 = (uint8_t)~low;
	const uint16_t k2 = (uint16_t)~low;
	const uint32_t k4 = (uint32_t)~low;
	const uint64_t k8 = ~low;
	size_t whole = nbytes - nbytes % typesize;

	memcpy(keep,
	       typesize == 1   ? (const void *)&k1
	       : typesize == 2 ? (const void *)&k2
	       : typesize == 4 ? (const void *)&k4
			       : (const void *)&k8,
	       typesize);
	for (size_t i = 0; i < whole; i++)
		dst[i] = src[i] & keep[i % typesize];
	memcpy(dst + whole, src + whole, nbytes - whole);
}

static void trunc_prec_encode(const struct b2f_filter_block *block,
			      uint8_t meta, const uint8_t *src, uint8_t *dst,
			      size_t nbytes)
{
	drop_bits(block->typesize,
		  dropped_bits(mantissa(block->typesize), meta), src, dst,
		  nbytes);
}

static void int_trunc_encode(const struct b2f_filter_block *block, uint8_t meta,
			     const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	drop_bits(block->typesize, dropped_bits(integer(block->typesize), meta),
		  src, dst, nbytes);
}

const struct b2f_filter b2f_filter_trunc_prec = {
	.name = "trunc_prec",
	.id = B2F_FILTER_TRUNC_PREC,
	.kind = B2F_FILTER_IDENTITY,
	.lossy = true,
	.encodable = trunc_prec_encodable,
	.encode = trunc_prec_encode,
};

const struct b2f_filter b2f_filter_int_trunc = {
	.name = "int_trunc",
	.id = B2F_FILTER_INT_TRUNC,
	.kind = B2F_FILTER_IDENTITY,
	.lossy = true,
	.encodable = int_trunc_encodable,
	.encode = int_trunc_encode,
};
