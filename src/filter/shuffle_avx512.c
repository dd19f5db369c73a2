/* SPDX-License-Identifier: BSD-3-Clause */
/* shuffle_avx512.c - shuffle and bitshuffle with AVX-512 VBMI and GFNI */
#include "filter/shuffle_impl.h"

#ifdef B2F_SHUFFLE_X86

#include <immintrin.h>
#include <string.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,gfni")))

AVX512 B2F_SHUFFLE_INLINE __m512i load(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

AVX512 B2F_SHUFFLE_INLINE void store16(uint8_t *p, __m128i v)
{
	_mm_storeu_si128((__m128i *)(void *)p, v);
}

/*
 * zip() works in each quarter of a vector on its own and would leave the
 * quarters of the result in the wrong vectors.  So each plane is first put in
 * the order that makes up for it: quarter q of the result's vector p has to
 * come from piece 4p + q of the plane, where it lies as piece p of quarter q.
 * (Pieces are of 16 / n bytes.)
 */
#define ORDER_1(n, i)                                                          \
	((4 * ((i) % 16 / (16 / (n))) + (i) / 16) * (16 / (n)) +               \
	 (i) % (16 / (n)))
#define TABLE_4(f, n, i) f(n, i), f(n, (i) + 1), f(n, (i) + 2), f(n, (i) + 3)
#define TABLE_16(f, n, i)                                                      \
	TABLE_4(f, n, i), TABLE_4(f, n, (i) + 4), TABLE_4(f, n, (i) + 8),      \
		TABLE_4(f, n, (i) + 12)
#define TABLE_64(f, n)                                                         \
	{                                                                      \
		TABLE_16(f, n, 0), TABLE_16(f, n, 16), TABLE_16(f, n, 32),     \
			TABLE_16(f, n, 48)                                     \
	}

AVX512 B2F_SHUFFLE_INLINE __m512i zip_order(unsigned int n)
{
	static const uint8_t order_2[64] = TABLE_64(ORDER_1, 2);
	static const uint8_t order_4[64] = TABLE_64(ORDER_1, 4);
	static const uint8_t order_8[64] = TABLE_64(ORDER_1, 8);
	static const uint8_t order_16[64] = TABLE_64(ORDER_1, 16);

	return load(n == 2   ? order_2
		    : n == 4 ? order_4
		    : n == 8 ? order_8
			     : order_16);
}

/* Interleaves @n vectors (2, 4, 8 or 16); see shuffle_impl.h. */
AVX512 B2F_SHUFFLE_INLINE void zip(__m512i v[16], unsigned int n)
{
	__m512i t[16];

	B2F_SHUFFLE_UNROLL
	for (unsigned int step = 1; step < n; step *= 2) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n / 2; j++) {
			t[2 * j] = _mm512_unpacklo_epi8(v[j], v[j + n / 2]);
			t[2 * j + 1] = _mm512_unpackhi_epi8(v[j], v[j + n / 2]);
		}
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = t[j];
	}
}

AVX512 B2F_SHUFFLE_INLINE size_t unshuffle_pow2(const struct b2f_planes *planes,
						unsigned int n, uint8_t *dst,
						size_t nitems)
{
	const __m512i order = zip_order(n);
	__m512i v[16];
	size_t i;

	/* Copies of the fields of @planes made this slower, with gcc 12. */
	for (i = 0; i + 64 <= nitems; i += 64) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = _mm512_permutexvar_epi8(
				order,
				load(planes->data + j * planes->stride + i));
		zip(v, n);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			_mm512_storeu_si512(dst + i * n + 64 * j, v[j]);
	}
	return i;
}

AVX512 static size_t unshuffle_2(const struct b2f_planes *planes, uint8_t *dst,
				 size_t nitems)
{
	return unshuffle_pow2(planes, 2, dst, nitems);
}

AVX512 static size_t unshuffle_4(const struct b2f_planes *planes, uint8_t *dst,
				 size_t nitems)
{
	return unshuffle_pow2(planes, 4, dst, nitems);
}

AVX512 static size_t unshuffle_8(const struct b2f_planes *planes, uint8_t *dst,
				 size_t nitems)
{
	return unshuffle_pow2(planes, 8, dst, nitems);
}

AVX512 static size_t unshuffle_16(const struct b2f_planes *planes, uint8_t *dst,
				  size_t nitems)
{
	return unshuffle_pow2(planes, 16, dst, nitems);
}

AVX512 B2F_SHUFFLE_INLINE size_t gather_pow2(const uint8_t *const *planes,
					     unsigned int n, uint8_t *dst,
					     size_t nitems)
{
	const __m512i order = zip_order(n);
	const uint8_t *from[16];
	__m512i v[16];
	size_t i;

	/* Copies, as the compiler must think that stores change them. */
	B2F_SHUFFLE_UNROLL
	for (unsigned int j = 0; j < n; j++)
		from[j] = planes[j];
	for (i = 0; i + 64 <= nitems; i += 64) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = _mm512_permutexvar_epi8(order,
						       load(from[j] + i));
		zip(v, n);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			_mm512_storeu_si512(dst + i * n + 64 * j, v[j]);
	}
	return i;
}

AVX512 static size_t avx512_gather(const uint8_t *const *planes, uint8_t *dst,
				   size_t width, size_t nitems)
{
	switch (width) {
	case 2:
		return gather_pow2(planes, 2, dst, nitems);
	case 4:
		return gather_pow2(planes, 4, dst, nitems);
	case 8:
		return gather_pow2(planes, 8, dst, nitems);
	default:
		return 0;
	}
}

/* Takes items of @width bytes, @n apart in a vector, together at its start. */
AVX512 B2F_SHUFFLE_INLINE __m512i pack_order(unsigned int n, size_t width)
{
	__m128i item = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
				     13, 14, 15);
	uint8_t order[64 + 16];

	for (unsigned int i = 0; i < 64 / n; i++) {
		store16(order + i * width, item);
		item = _mm_add_epi8(item, _mm_set1_epi8((char)n));
	}
	return load(order);
}

/* What all steps of a narrow width share. */
struct narrow {
	__m512i zip_order;
	__m512i pack_order;
	size_t stride;
	size_t width;
};

/*
 * 64 items of less than @n planes, as if the last plane were there several
 * times.  Each store has rubbish behind its items, which the next overwrites.
 */
AVX512 B2F_SHUFFLE_INLINE void narrow_step(const struct narrow *narrow,
					   unsigned int n, const uint8_t *src,
					   uint8_t *dst)
{
	size_t last = narrow->width - 1;
	__m512i v[16];

	B2F_SHUFFLE_UNROLL
	for (size_t j = 0; j < n; j++)
		v[j] = _mm512_permutexvar_epi8(
			narrow->zip_order,
			load(src + (j < last ? j : last) * narrow->stride));
	zip(v, n);
	B2F_SHUFFLE_UNROLL
	for (size_t j = 0; j < n; j++)
		_mm512_storeu_si512(
			dst + 64 / n * j * narrow->width,
			_mm512_permutexvar_epi8(narrow->pack_order, v[j]));
}

AVX512 B2F_SHUFFLE_INLINE size_t
unshuffle_narrow(const struct b2f_planes *planes, unsigned int n, uint8_t *dst,
		 size_t nitems)
{
	const struct narrow narrow = {
		.zip_order = zip_order(n),
		.pack_order = pack_order(n, planes->count),
		.stride = planes->stride,
		.width = planes->count,
	};
	size_t width = planes->count, i;
	uint8_t step[64 * 16];

	for (i = 0; i + 128 <= nitems; i += 64)
		narrow_step(&narrow, n, planes->data + i, dst + i * width);
	for (; i + 64 <= nitems; i += 64) {
		/* No item may follow that would overwrite the rubbish. */
		narrow_step(&narrow, n, planes->data + i, step);
		memcpy(dst + i * width, step, 64 * width);
	}
	return i;
}

AVX512 static size_t unshuffle_3(const struct b2f_planes *planes, uint8_t *dst,
				 size_t nitems)
{
	return unshuffle_narrow(planes, 4, dst, nitems);
}

AVX512 static size_t unshuffle_below_8(const struct b2f_planes *planes,
				       uint8_t *dst, size_t nitems)
{
	return unshuffle_narrow(planes, 8, dst, nitems);
}

AVX512 static size_t unshuffle_below_16(const struct b2f_planes *planes,
					uint8_t *dst, size_t nitems)
{
	return unshuffle_narrow(planes, 16, dst, nitems);
}

/*
 * The way back.  Of the number of a byte among @n vectors of items, zip() turns
 * all but the quarter; after it the vector is to be the plane.  So first the
 * low bits, which are the plane, are put where zip() takes them from: quarter
 * and lower bits hold what is left of the item's number.  In the end one more
 * order makes that number straight.
 */
#define BITS(x, from, n) ((x) >> (from) & ((1 << (n)) - 1))
#define BEFORE_1(log, i)                                                       \
	((BITS(i, 4, 2) << (4 - (log)) | BITS(i, 0, 4 - (log))) << (log) |     \
	 BITS(i, 4 - (log), log))
#define AFTER_1(log, i)                                                        \
	(BITS(i, 4 - (log), 2) << 4 | BITS(i, 0, 4 - (log)) << (log) |         \
	 BITS(i, 6 - (log), log))

struct unzip_orders {
	__m512i before;
	__m512i after;
};

/* For @n (2, 4, 8 or 16) vectors. */
AVX512 B2F_SHUFFLE_INLINE struct unzip_orders unzip_orders(unsigned int n)
{
	static const uint8_t tables[4][2][64] = {
		{TABLE_64(BEFORE_1, 1), TABLE_64(AFTER_1, 1)},
		{TABLE_64(BEFORE_1, 2), TABLE_64(AFTER_1, 2)},
		{TABLE_64(BEFORE_1, 3), TABLE_64(AFTER_1, 3)},
		{TABLE_64(BEFORE_1, 4), TABLE_64(AFTER_1, 4)},
	};
	unsigned int i = n == 2 ? 0 : n == 4 ? 1 : n == 8 ? 2 : 3;

	return (struct unzip_orders){load(tables[i][0]), load(tables[i][1])};
}

AVX512 B2F_SHUFFLE_INLINE void unzip(__m512i v[16], unsigned int n,
				     const struct unzip_orders *orders)
{
	B2F_SHUFFLE_UNROLL
	for (unsigned int j = 0; j < n; j++)
		v[j] = _mm512_permutexvar_epi8(orders->before, v[j]);
	zip(v, n);
	B2F_SHUFFLE_UNROLL
	for (unsigned int j = 0; j < n; j++)
		v[j] = _mm512_permutexvar_epi8(orders->after, v[j]);
}

AVX512 B2F_SHUFFLE_INLINE size_t
shuffle_pow2(const uint8_t *src, unsigned int n,
	     const struct b2f_planes_to *planes, size_t nitems)
{
	const struct unzip_orders orders = unzip_orders(n);
	uint8_t *dst = planes->data;
	size_t stride = planes->stride, i;
	__m512i v[16];

	for (i = 0; i + 64 <= nitems; i += 64) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = load(src + i * n + 64 * j);
		unzip(v, n, &orders);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			_mm512_storeu_si512(dst + j * stride + i, v[j]);
	}
	return i;
}

AVX512 static size_t
shuffle_2(const uint8_t *src, const struct b2f_planes_to *planes, size_t nitems)
{
	return shuffle_pow2(src, 2, planes, nitems);
}

AVX512 static size_t
shuffle_4(const uint8_t *src, const struct b2f_planes_to *planes, size_t nitems)
{
	return shuffle_pow2(src, 4, planes, nitems);
}

AVX512 static size_t
shuffle_8(const uint8_t *src, const struct b2f_planes_to *planes, size_t nitems)
{
	return shuffle_pow2(src, 8, planes, nitems);
}

AVX512 static size_t shuffle_16(const uint8_t *src,
				const struct b2f_planes_to *planes,
				size_t nitems)
{
	return shuffle_pow2(src, 16, planes, nitems);
}

/* The squares of other widths wait for memory: AVX2 does them as fast. */
static void avx512_shuffle(const uint8_t *src, size_t width,
			   const struct b2f_planes_to *planes, size_t nitems)
{
	size_t done;

	if (planes->count == width && width == 2)
		done = shuffle_2(src, planes, nitems);
	else if (planes->count == width && width == 4)
		done = shuffle_4(src, planes, nitems);
	else if (planes->count == width && width == 8)
		done = shuffle_8(src, planes, nitems);
	else if (planes->count == width && width == 16)
		done = shuffle_16(src, planes, nitems);
	else {
		b2f_shuffle_avx2.shuffle(src, width, planes, nitems);
		return;
	}
	b2f_shuffle_scalar_planes(src, width, planes, done, nitems);
}

/* 64 items, 4 in each vector. */
AVX512 static void unshuffle_square(const struct b2f_planes *planes,
				    uint8_t *dst, size_t width)
{
	const __m512i order = zip_order(16);
	__m512i v[16];

	B2F_SHUFFLE_UNROLL
	for (size_t j = 0; j < 16; j++)
		v[j] = _mm512_permutexvar_epi8(
			order, load(planes->data + j * planes->stride));
	zip(v, 16);
	B2F_SHUFFLE_UNROLL
	for (size_t k = 0; k < 16; k++) {
		uint8_t *to = dst + 4 * k * width;

		store16(to, _mm512_castsi512_si128(v[k]));
		store16(to + width, _mm512_extracti32x4_epi32(v[k], 1));
		store16(to + 2 * width, _mm512_extracti32x4_epi32(v[k], 2));
		store16(to + 3 * width, _mm512_extracti32x4_epi32(v[k], 3));
	}
}

static const struct b2f_shuffle_square avx512_square = {
	.nitems = 64,
	.unshuffle = unshuffle_square,
};

static void avx512_unshuffle(const struct b2f_planes *planes, uint8_t *dst,
			     size_t width, size_t nitems)
{
	size_t done;

	if (planes->count != width || width > 16)
		done = b2f_shuffle_squares(&avx512_square, planes, dst, width,
					   nitems);
	else if (width == 2)
		done = unshuffle_2(planes, dst, nitems);
	else if (width == 3)
		done = unshuffle_3(planes, dst, nitems);
	else if (width == 4)
		done = unshuffle_4(planes, dst, nitems);
	else if (width < 8)
		done = unshuffle_below_8(planes, dst, nitems);
	else if (width == 8)
		done = unshuffle_8(planes, dst, nitems);
	else if (width < 16)
		done = unshuffle_below_16(planes, dst, nitems);
	else
		done = unshuffle_16(planes, dst, nitems);
	b2f_shuffle_scalar_items(planes, dst, width, done, nitems);
}

/*
 * GFNI multiplies matrices of 8 by 8 bits: unity times a matrix whose rows come
 * last first is that matrix transposed.  So the rows are loaded last first.
 */
AVX512 static void avx512_plane(const uint8_t *rows, size_t stride,
				uint8_t *plane, size_t nbytes)
{
	const __m512i unity = _mm512_set1_epi64((long long)0x8040201008040201);
	const __m512i order = zip_order(8);
	__m512i v[16];
	size_t k;

	for (k = 0; k + 64 <= nbytes; k += 64) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			v[j] = _mm512_permutexvar_epi8(
				order, load(rows + (7 - j) * stride + k));
		zip(v, 8);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			_mm512_storeu_si512(
				plane + 8 * k + 64 * j,
				_mm512_gf2p8affine_epi64_epi8(unity, v[j], 0));
	}
	b2f_shuffle_scalar_plane(rows, stride, plane, k, nbytes);
}

/* Eight bytes are a matrix: transposed they are a byte of each of 8 rows. */
AVX512 static void avx512_rows(const uint8_t *plane, uint8_t *rows,
			       size_t stride, size_t nbytes)
{
	const __m512i unity = _mm512_set1_epi64((long long)0x8040201008040201);
	const __m512i last_first = _mm512_broadcast_i32x4(_mm_setr_epi8(
		7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
	const struct unzip_orders orders = unzip_orders(8);
	__m512i v[16];
	size_t k;

	for (k = 0; k + 64 <= nbytes; k += 64) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			v[j] = _mm512_gf2p8affine_epi64_epi8(
				unity,
				_mm512_shuffle_epi8(
					load(plane + 8 * k + 64 * j),
					last_first),
				0);
		unzip(v, 8, &orders);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			_mm512_storeu_si512(rows + j * stride + k, v[j]);
	}
	b2f_shuffle_scalar_rows(plane, rows, stride, k, nbytes);
}

static bool avx512_supported(void)
{
	return __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vbmi") &&
	       __builtin_cpu_supports("gfni");
}

const struct b2f_shuffle_variant b2f_shuffle_avx512 = {
	.name = "avx512",
	.supported = avx512_supported,
	.unshuffle = avx512_unshuffle,
	.gather = avx512_gather,
	.plane = avx512_plane,
	.shuffle = avx512_shuffle,
	.rows = avx512_rows,
};

#endif
