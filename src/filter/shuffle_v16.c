/* SPDX-License-Identifier: BSD-3-Clause */
/* shuffle_v16.c - shuffle and bitshuffle with SSE2 or NEON */
#include "filter/shuffle_impl.h"

#ifdef B2F_VEC16

#include <string.h>

/* The interleaving of shuffle_impl.h, @steps times, with @n vectors. */
B2F_SHUFFLE_INLINE void zip_steps(b2f_vec16 v[16], unsigned int n,
				  unsigned int steps)
{
	b2f_vec16 t[16];

	B2F_SHUFFLE_UNROLL
	for (unsigned int step = 0; step < steps; step++) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n / 2; j++) {
			t[2 * j] = b2f_vec16_zip_lo(v[j], v[j + n / 2]);
			t[2 * j + 1] = b2f_vec16_zip_hi(v[j], v[j + n / 2]);
		}
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = t[j];
	}
}

/* Interleaves the bytes of @n vectors (2, 4, 8 or 16). */
B2F_SHUFFLE_INLINE void zip(b2f_vec16 v[16], unsigned int n)
{
	zip_steps(v, n, n == 2 ? 1 : n == 4 ? 2 : n == 8 ? 3 : 4);
}

/* Undoes zip(): from items to planes. */
B2F_SHUFFLE_INLINE void unzip(b2f_vec16 v[16], unsigned int n)
{
	zip_steps(v, n, 4);
}

/* Widths that are a power of 2: the result of zip() is stored unchanged. */
B2F_SHUFFLE_INLINE size_t unshuffle_pow2(const struct b2f_planes *planes,
					 unsigned int n, uint8_t *dst,
					 size_t nitems)
{
	b2f_vec16 v[16];
	/* Copies, as the compiler must think that stores change the struct. */
	const uint8_t *src = planes->data;
	size_t stride = planes->stride, i;

	for (i = 0; i + 16 <= nitems; i += 16) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = b2f_vec16_load(src + j * stride + i);
		zip(v, n);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			b2f_vec16_store(dst + i * n + 16 * j, v[j]);
	}
	return i;
}

size_t b2f_shuffle_v16_below_8(const struct b2f_planes *planes, uint8_t *dst,
			       size_t nitems)
{
	size_t last = planes->count - 1, width = planes->count;
	size_t stride = planes->stride;
	const uint8_t *src = planes->data;
	b2f_vec16 v[16];
	uint8_t items[128];
	size_t i;

	/* Treats them as 8 planes; see b2f_shuffle_squares(). */
	for (i = 0; (i + 15) * width + 8 <= nitems * width; i += 16) {
		B2F_SHUFFLE_UNROLL
		for (size_t j = 0; j < 8; j++)
			v[j] = b2f_vec16_load(
				src + (j < last ? j : last) * stride + i);
		zip(v, 8);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			b2f_vec16_store(items + 16 * j, v[j]);
		B2F_SHUFFLE_UNROLL
		for (size_t k = 0; k < 16; k++)
			memcpy(dst + (i + k) * width, items + 8 * k, 8);
	}
	return i;
}

B2F_SHUFFLE_INLINE void square(const struct b2f_planes *planes, size_t last,
			       uint8_t *dst, size_t width)
{
	b2f_vec16 v[16];

	B2F_SHUFFLE_UNROLL
	for (size_t j = 0; j < 16; j++)
		v[j] = b2f_vec16_load(planes->data +
				      (j < last ? j : last) * planes->stride);
	zip(v, 16);
	B2F_SHUFFLE_UNROLL
	for (size_t k = 0; k < 16; k++)
		b2f_vec16_store(dst + k * width, v[k]);
}

static void unshuffle_square(const struct b2f_planes *planes, uint8_t *dst,
			     size_t width)
{
	/* The same code twice, as a known number of planes is faster. */
	if (planes->count == 16)
		square(planes, 15, dst, width);
	else
		square(planes, planes->count - 1, dst, width);
}

static void shuffle_square(const uint8_t *src, size_t width,
			   const struct b2f_planes_to *planes)
{
	b2f_vec16 v[16];

	B2F_SHUFFLE_UNROLL
	for (size_t i = 0; i < 16; i++)
		v[i] = b2f_vec16_load(src + i * width);
	unzip(v, 16);
	/*
	 * Not unrolled: @v is indexed by a variable, so it lies in memory
	 * anyway.
	 */
	for (size_t j = 0; j < planes->count; j++)
		b2f_vec16_store(planes->data + j * planes->stride, v[j]);
}

static const struct b2f_shuffle_square v16_square = {
	.nitems = 16,
	.unshuffle = unshuffle_square,
	.shuffle = shuffle_square,
};

B2F_SHUFFLE_INLINE size_t shuffle_pow2(const uint8_t *src, unsigned int n,
				       const struct b2f_planes_to *planes,
				       size_t nitems)
{
	uint8_t *dst = planes->data;
	size_t stride = planes->stride, i;
	b2f_vec16 v[16];

	for (i = 0; i + 16 <= nitems; i += 16) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = b2f_vec16_load(src + i * n + 16 * j);
		unzip(v, n);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			b2f_vec16_store(dst + j * stride + i, v[j]);
	}
	return i;
}

static void v16_shuffle(const uint8_t *src, size_t width,
			const struct b2f_planes_to *planes, size_t nitems)
{
	size_t done;

	if (planes->count == width && width == 2)
		done = shuffle_pow2(src, 2, planes, nitems);
	else if (planes->count == width && width == 4)
		done = shuffle_pow2(src, 4, planes, nitems);
	else if (planes->count == width && width == 8)
		done = shuffle_pow2(src, 8, planes, nitems);
	else if (planes->count == width && width == 16)
		done = shuffle_pow2(src, 16, planes, nitems);
	else
		done = b2f_shuffle_squares_to(&v16_square, src, width, planes,
					      nitems);
	b2f_shuffle_scalar_planes(src, width, planes, done, nitems);
}

static void v16_unshuffle(const struct b2f_planes *planes, uint8_t *dst,
			  size_t width, size_t nitems)
{
	size_t done;

	if (planes->count != width || (width > 8 && width != 16))
		done = b2f_shuffle_squares(&v16_square, planes, dst, width,
					   nitems);
	else if (width == 2)
		done = unshuffle_pow2(planes, 2, dst, nitems);
	else if (width == 4)
		done = unshuffle_pow2(planes, 4, dst, nitems);
	else if (width == 8)
		done = unshuffle_pow2(planes, 8, dst, nitems);
	else if (width == 16)
		done = unshuffle_pow2(planes, 16, dst, nitems);
	else
		done = b2f_shuffle_v16_below_8(planes, dst, nitems);
	b2f_shuffle_scalar_items(planes, dst, width, done, nitems);
}

/*
 * In every byte place, the bits of vectors @a and @b that are @n apart change
 * places: the high ones of @a (under ~@mask) with the low ones of @b.
 */
B2F_SHUFFLE_INLINE void swap_bits(b2f_vec16 *a, b2f_vec16 *b, int n,
				  b2f_vec16 mask)
{
	b2f_vec16 t = b2f_vec16_xor(b2f_vec16_bits_down(*a, n), *b);

	t = b2f_vec16_and(t, mask);
	*b = b2f_vec16_xor(*b, t);
	*a = b2f_vec16_xor(*a, b2f_vec16_bits_up(t, n));
}

/* Bit i of vector j and bit j of vector i change places. */
B2F_SHUFFLE_INLINE void transpose_bits(b2f_vec16 v[16])
{
	static const uint8_t masks[3] = {0x0f, 0x33, 0x55};

	B2F_SHUFFLE_UNROLL
	for (unsigned int s = 0; s < 3; s++) {
		unsigned int n = 4 >> s;

		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++) {
			if (!(j & n))
				swap_bits(&v[j], &v[j + n], (int)n,
					  b2f_vec16_fill(masks[s]));
		}
	}
}

static void v16_plane(const uint8_t *rows, size_t stride, uint8_t *plane,
		      size_t nbytes)
{
	b2f_vec16 v[16];
	size_t k;

	for (k = 0; k + 16 <= nbytes; k += 16) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			v[j] = b2f_vec16_load(rows + j * stride + k);
		transpose_bits(v);
		zip(v, 8);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			b2f_vec16_store(plane + 8 * k + 16 * j, v[j]);
	}
	b2f_shuffle_scalar_plane(rows, stride, plane, k, nbytes);
}

static void v16_rows(const uint8_t *plane, uint8_t *rows, size_t stride,
		     size_t nbytes)
{
	b2f_vec16 v[16];
	size_t k;

	for (k = 0; k + 16 <= nbytes; k += 16) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			v[j] = b2f_vec16_load(plane + 8 * k + 16 * j);
		unzip(v, 8);
		transpose_bits(v);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			b2f_vec16_store(rows + j * stride + k, v[j]);
	}
	b2f_shuffle_scalar_rows(plane, rows, stride, k, nbytes);
}

static bool v16_supported(void)
{
	return true;
}

const struct b2f_shuffle_variant b2f_shuffle_v16 = {
	.name = B2F_VEC16,
	.supported = v16_supported,
	.unshuffle = v16_unshuffle,
	.plane = v16_plane,
	.shuffle = v16_shuffle,
	.rows = v16_rows,
};

#endif
