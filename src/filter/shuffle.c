/* SPDX-License-Identifier: BSD-3-Clause */
/* shuffle.c - the byte shuffle filter, its scalar form and choice of SIMD */
#include "filter/filter.h"

#include <string.h>

#include "base/bytes.h"
#include "filter/shuffle_impl.h"

void b2f_shuffle_scalar_items(const struct b2f_planes *planes, uint8_t *dst,
			      size_t width, size_t done, size_t nitems)
{
	for (size_t i = done; i < nitems; i++) {
		for (size_t j = 0; j < planes->count; j++)
			dst[i * width + j] =
				planes->data[j * planes->stride + i];
	}
}

/*
 * Bit i of byte j and bit j of byte i change places, byte 0 being the lowest:
 * first in squares of 2 by 2 bits, then the quarters of squares of 4 and of 8.
 */
static uint64_t transpose_bits(uint64_t x)
{
	uint64_t t = (x ^ x >> 7) & UINT64_C(0x00aa00aa00aa00aa);

	x ^= t ^ t << 7;
	t = (x ^ x >> 14) & UINT64_C(0x0000cccc0000cccc);
	x ^= t ^ t << 14;
	t = (x ^ x >> 28) & UINT64_C(0x00000000f0f0f0f0);
	return x ^ t ^ t << 28;
}

void b2f_shuffle_scalar_plane(const uint8_t *rows, size_t stride,
			      uint8_t *plane, size_t done, size_t nbytes)
{
	uint64_t x;

	for (size_t k = done; k < nbytes; k++) {
		x = 0;
		for (size_t r = 0; r < 8; r++)
			x |= (uint64_t)rows[r * stride + k] << 8 * r;
		b2f_store_le64(plane + 8 * k, transpose_bits(x));
	}
}

void b2f_shuffle_scalar_planes(const uint8_t *src, size_t width,
			       const struct b2f_planes *planes, size_t done,
			       size_t nitems)
{
	for (size_t j = 0; j < planes->count; j++) {
		uint8_t *plane = planes->data + j * planes->stride;

		for (size_t i = done; i < nitems; i++)
			plane[i] = src[i * width + j];
	}
}

void b2f_shuffle_scalar_rows(const uint8_t *plane, uint8_t *rows, size_t stride,
			     size_t done, size_t nbytes)
{
	uint64_t x;

	for (size_t k = done; k < nbytes; k++) {
		x = transpose_bits(b2f_load_le64(plane + 8 * k));
		for (size_t r = 0; r < 8; r++)
			rows[r * stride + k] = (uint8_t)(x >> 8 * r);
	}
}

static bool scalar_supported(void)
{
	return true;
}

static void scalar_unshuffle(const struct b2f_planes *planes, uint8_t *dst,
			     size_t width, size_t nitems)
{
	b2f_shuffle_scalar_items(planes, dst, width, 0, nitems);
}

static void scalar_plane(const uint8_t *rows, size_t stride, uint8_t *plane,
			 size_t nbytes)
{
	b2f_shuffle_scalar_plane(rows, stride, plane, 0, nbytes);
}

static void scalar_shuffle(const uint8_t *src, size_t width,
			   const struct b2f_planes *planes, size_t nitems)
{
	b2f_shuffle_scalar_planes(src, width, planes, 0, nitems);
}

static void scalar_rows(const uint8_t *plane, uint8_t *rows, size_t stride,
			size_t nbytes)
{
	b2f_shuffle_scalar_rows(plane, rows, stride, 0, nbytes);
}

const struct b2f_shuffle_variant b2f_shuffle_scalar = {
	.name = "scalar",
	.supported = scalar_supported,
	.unshuffle = scalar_unshuffle,
	.plane = scalar_plane,
	.shuffle = scalar_shuffle,
	.rows = scalar_rows,
};

const struct b2f_shuffle_variant *const b2f_shuffle_variants[] = {
#ifdef B2F_SHUFFLE_X86
	&b2f_shuffle_avx512, &b2f_shuffle_avx2,
#endif
#ifdef B2F_VEC16
	&b2f_shuffle_v16,
#endif
	&b2f_shuffle_scalar, NULL,
};

/* Items of the largest square. */
#define SQUARE_MAX 32

/* Up to 16 planes from the plane @first on, from item @item on. */
static struct b2f_planes planes_at(const struct b2f_planes *planes,
				   size_t first, size_t item)
{
	size_t left = planes->count - first;

	return (struct b2f_planes){
		.data = planes->data + first * planes->stride + item,
		.stride = planes->stride,
		.count = left < 16 ? left : 16,
	};
}

/* 16 planes and more; the last group goes back to be whole. */
static void square_row(const struct b2f_shuffle_square *square,
		       const struct b2f_planes *planes, size_t item,
		       uint8_t *dst, size_t width)
{
	size_t last = planes->count - 16;
	struct b2f_planes group;

	for (size_t j = 0; j < last; j += 16) {
		group = planes_at(planes, j, item);
		square->unshuffle(&group, dst + item * width + j, width);
	}
	group = planes_at(planes, last, item);
	square->unshuffle(&group, dst + item * width + last, width);
}

/*
 * Fewer than 16 planes.  Each item overwrites the rubbish behind the previous
 * one; a square without a following item goes through a buffer.
 */
static size_t narrow_squares(const struct b2f_shuffle_square *square,
			     const struct b2f_planes *planes, uint8_t *dst,
			     size_t nitems)
{
	size_t step = square->nitems, width = planes->count, i;
	uint8_t detour[SQUARE_MAX * 16];
	struct b2f_planes group;

	for (i = 0; i + 2 * step <= nitems; i += step) {
		group = planes_at(planes, 0, i);
		square->unshuffle(&group, dst + i * width, width);
	}
	for (; i + step <= nitems; i += step) {
		group = planes_at(planes, 0, i);
		square->unshuffle(&group, detour, width);
		memcpy(dst + i * width, detour, step * width);
	}
	return i;
}

size_t b2f_shuffle_squares(const struct b2f_shuffle_square *square,
			   const struct b2f_planes *planes, uint8_t *dst,
			   size_t width, size_t nitems)
{
	size_t i;

	/* The rubbish would fall on the planes of others. */
	if (planes->count < 16 && planes->count != width)
		return 0;
	if (planes->count < 16)
		return narrow_squares(square, planes, dst, nitems);
	for (i = 0; i + square->nitems <= nitems; i += square->nitems)
		square_row(square, planes, i, dst, width);
	return i;
}

/* The planes of one square of items, 16 at a time. */
static void square_column(const struct b2f_shuffle_square *square,
			  const uint8_t *src, size_t width,
			  const struct b2f_planes *planes, size_t item)
{
	size_t last = planes->count < 16 ? 0 : planes->count - 16;
	struct b2f_planes group;

	for (size_t j = 0; j < last; j += 16) {
		group = planes_at(planes, j, item);
		square->shuffle(src + item * width + j, width, &group);
	}
	group = planes_at(planes, last, item);
	square->shuffle(src + item * width + last, width, &group);
}

size_t b2f_shuffle_squares_to(const struct b2f_shuffle_square *square,
			      const uint8_t *src, size_t width,
			      const struct b2f_planes *planes, size_t nitems)
{
	size_t reach = planes->count < 16 ? 16 : planes->count;
	size_t i = 0;

	/* The last item of a square must not read beyond the last of all. */
	while (i + square->nitems <= nitems &&
	       (nitems - i - square->nitems) * width + planes->count >= reach) {
		square_column(square, src, width, planes, i);
		i += square->nitems;
	}
	return i;
}

/* Called per block: a few loads and tests, and no mutable global. */
const struct b2f_shuffle_variant *b2f_shuffle_best(void)
{
	size_t i = 0;

	while (!b2f_shuffle_variants[i]->supported())
		i++;
	return b2f_shuffle_variants[i];
}

void b2f_shuffle_undo(const struct b2f_shuffle_variant *variant, size_t width,
		      const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	size_t nitems = nbytes / width;
	size_t whole = nitems * width;
	struct b2f_planes planes = {
		.data = (uint8_t *)(uintptr_t)src,
		.stride = nitems,
		.count = width,
	};

	if (width == 1)
		memcpy(dst, src, whole);
	else
		variant->unshuffle(&planes, dst, width, nitems);
	memcpy(dst + whole, src + whole, nbytes - whole);
}

void b2f_shuffle_gather(const struct b2f_shuffle_variant *variant,
			const uint8_t *const *planes, size_t width,
			uint8_t *dst, size_t nitems)
{
	size_t done = 0;

	if (variant->gather)
		done = variant->gather(planes, dst, width, nitems);
	for (size_t i = done; i < nitems; i++)
		for (size_t j = 0; j < width; j++)
			dst[i * width + j] = planes[j][i];
}

static void shuffle_decode(const struct b2f_filter_block *block, uint8_t meta,
			   const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	b2f_shuffle_undo(b2f_shuffle_best(), meta ? meta : block->typesize, src,
			 dst, nbytes);
}

void b2f_shuffle_apply(const struct b2f_shuffle_variant *variant, size_t width,
		       const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	size_t nitems = nbytes / width;
	size_t whole = nitems * width;
	struct b2f_planes planes = {
		.data = dst,
		.stride = nitems,
		.count = width,
	};

	if (width == 1)
		memcpy(dst, src, whole);
	else
		variant->shuffle(src, width, &planes, nitems);
	memcpy(dst + whole, src + whole, nbytes - whole);
}

static void shuffle_encode(const struct b2f_filter_block *block, uint8_t meta,
			   const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	b2f_shuffle_apply(b2f_shuffle_best(), meta ? meta : block->typesize,
			  src, dst, nbytes);
}

const struct b2f_filter b2f_filter_shuffle = {
	.name = "shuffle",
	.id = B2F_FILTER_SHUFFLE,
	.kind = B2F_FILTER_MOVE,
	.decode = shuffle_decode,
	.encode = shuffle_encode,
};
