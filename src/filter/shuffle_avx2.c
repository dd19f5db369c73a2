/* SPDX-License-Identifier: BSD-3-Clause */
/* shuffle_avx2.c - shuffle and bitshuffle with AVX2 */
#include "filter/shuffle_impl.h"

#ifdef B2F_SHUFFLE_X86

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 B2F_SHUFFLE_INLINE __m256i load(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

AVX2 B2F_SHUFFLE_INLINE void store(uint8_t *p, __m256i v)
{
	_mm256_storeu_si256((__m256i *)(void *)p, v);
}

AVX2 B2F_SHUFFLE_INLINE void store16(uint8_t *p, __m128i v)
{
	_mm_storeu_si128((__m128i *)(void *)p, v);
}

/*
 * The interleaving of shuffle_impl.h, @steps times, with @n vectors, in each
 * half on its own, as AVX2 does.
 */
AVX2 B2F_SHUFFLE_INLINE void zip_steps(__m256i v[16], unsigned int n,
				       unsigned int steps)
{
	__m256i t[16];

	B2F_SHUFFLE_UNROLL
	for (unsigned int step = 0; step < steps; step++) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n / 2; j++) {
			t[2 * j] = _mm256_unpacklo_epi8(v[j], v[j + n / 2]);
			t[2 * j + 1] = _mm256_unpackhi_epi8(v[j], v[j + n / 2]);
		}
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = t[j];
	}
}

/* Interleaves @n vectors (2, 4, 8 or 16). */
AVX2 B2F_SHUFFLE_INLINE void zip(__m256i v[16], unsigned int n)
{
	zip_steps(v, n, n == 2 ? 1 : n == 4 ? 2 : n == 8 ? 3 : 4);
}

/* Undoes zip(), for vectors that load_halves() loaded. */
AVX2 B2F_SHUFFLE_INLINE void unzip(__m256i v[16], unsigned int n)
{
	zip_steps(v, n, 4);
}

AVX2 B2F_SHUFFLE_INLINE __m256i load_two(const uint8_t *low,
					 const uint8_t *high)
{
	__m128i a = _mm_loadu_si128((const __m128i *)(const void *)low);
	__m128i b = _mm_loadu_si128((const __m128i *)(const void *)high);

	return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

/* The first half of the bytes into the low halves, the second into the high. */
AVX2 B2F_SHUFFLE_INLINE void load_halves(__m256i v[16], const uint8_t *src,
					 unsigned int n)
{
	B2F_SHUFFLE_UNROLL
	for (unsigned int j = 0; j < n; j++)
		v[j] = load_two(src + 16 * j, src + 16 * n + 16 * j);
}

/* Stores the result of zip(): first all low halves, then all high halves. */
AVX2 B2F_SHUFFLE_INLINE void store_halves(uint8_t *dst, const __m256i v[16],
					  unsigned int n)
{
	B2F_SHUFFLE_UNROLL
	for (unsigned int j = 0; j < n; j += 2) {
		store(dst + 16 * j,
		      _mm256_permute2x128_si256(v[j], v[j + 1], 0x20));
		store(dst + 16 * n + 16 * j,
		      _mm256_permute2x128_si256(v[j], v[j + 1], 0x31));
	}
}

AVX2 B2F_SHUFFLE_INLINE size_t unshuffle_pow2(const struct b2f_planes *planes,
					      unsigned int n, uint8_t *dst,
					      size_t nitems)
{
	__m256i v[16];
	/* Copies, as the compiler must think that stores change the struct. */
	const uint8_t *src = planes->data;
	size_t stride = planes->stride, i;

	for (i = 0; i + 32 <= nitems; i += 32) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = load(src + j * stride + i);
		zip(v, n);
		store_halves(dst + i * n, v, n);
	}
	return i;
}

AVX2 static size_t unshuffle_2(const struct b2f_planes *planes, uint8_t *dst,
			       size_t nitems)
{
	return unshuffle_pow2(planes, 2, dst, nitems);
}

AVX2 static size_t unshuffle_4(const struct b2f_planes *planes, uint8_t *dst,
			       size_t nitems)
{
	return unshuffle_pow2(planes, 4, dst, nitems);
}

AVX2 static size_t unshuffle_8(const struct b2f_planes *planes, uint8_t *dst,
			       size_t nitems)
{
	return unshuffle_pow2(planes, 8, dst, nitems);
}

AVX2 static size_t unshuffle_16(const struct b2f_planes *planes, uint8_t *dst,
				size_t nitems)
{
	return unshuffle_pow2(planes, 16, dst, nitems);
}

AVX2 B2F_SHUFFLE_INLINE size_t gather_pow2(const uint8_t *const *planes,
					   unsigned int n, uint8_t *dst,
					   size_t nitems)
{
	const uint8_t *from[16];
	__m256i v[16];
	size_t i;

	/* Copies, as the compiler must think that stores change them. */
	B2F_SHUFFLE_UNROLL
	for (unsigned int j = 0; j < n; j++)
		from[j] = planes[j];
	for (i = 0; i + 32 <= nitems; i += 32) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = load(from[j] + i);
		zip(v, n);
		store_halves(dst + i * n, v, n);
	}
	return i;
}

AVX2 static size_t avx2_gather(const uint8_t *const *planes, uint8_t *dst,
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

/* 32 items: the first 16 are in the low halves, the others in the high ones. */
AVX2 B2F_SHUFFLE_INLINE void square(const struct b2f_planes *planes,
				    size_t last, uint8_t *dst, size_t width)
{
	__m256i v[16];

	B2F_SHUFFLE_UNROLL
	for (size_t j = 0; j < 16; j++)
		v[j] = load(planes->data +
			    (j < last ? j : last) * planes->stride);
	zip(v, 16);
	B2F_SHUFFLE_UNROLL
	for (size_t k = 0; k < 16; k++)
		store16(dst + k * width, _mm256_castsi256_si128(v[k]));
	B2F_SHUFFLE_UNROLL
	for (size_t k = 0; k < 16; k++)
		store16(dst + (16 + k) * width,
			_mm256_extracti128_si256(v[k], 1));
}

AVX2 static void unshuffle_square(const struct b2f_planes *planes, uint8_t *dst,
				  size_t width)
{
	/* The same code twice, as a known number of planes is faster. */
	if (planes->count == 16)
		square(planes, 15, dst, width);
	else
		square(planes, planes->count - 1, dst, width);
}

AVX2 static void shuffle_square(const uint8_t *src, size_t width,
				const struct b2f_planes_to *planes)
{
	__m256i v[16];

	B2F_SHUFFLE_UNROLL
	for (size_t i = 0; i < 16; i++)
		v[i] = load_two(src + i * width, src + (16 + i) * width);
	unzip(v, 16);
	/*
	 * Not unrolled: @v is indexed by a variable, so it lies in memory
	 * anyway.
	 */
	for (size_t j = 0; j < planes->count; j++)
		store(planes->data + j * planes->stride, v[j]);
}

static const struct b2f_shuffle_square avx2_square = {
	.nitems = 32,
	.unshuffle = unshuffle_square,
	.shuffle = shuffle_square,
};

AVX2 B2F_SHUFFLE_INLINE size_t shuffle_pow2(const uint8_t *src, unsigned int n,
					    const struct b2f_planes_to *planes,
					    size_t nitems)
{
	uint8_t *dst = planes->data;
	size_t stride = planes->stride, i;
	__m256i v[16];

	for (i = 0; i + 32 <= nitems; i += 32) {
		load_halves(v, src + i * n, n);
		unzip(v, n);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			store(dst + j * stride + i, v[j]);
	}
	return i;
}

AVX2 static size_t shuffle_2(const uint8_t *src,
			     const struct b2f_planes_to *planes, size_t nitems)
{
	return shuffle_pow2(src, 2, planes, nitems);
}

AVX2 static size_t shuffle_4(const uint8_t *src,
			     const struct b2f_planes_to *planes, size_t nitems)
{
	return shuffle_pow2(src, 4, planes, nitems);
}

AVX2 static size_t shuffle_8(const uint8_t *src,
			     const struct b2f_planes_to *planes, size_t nitems)
{
	return shuffle_pow2(src, 8, planes, nitems);
}

AVX2 static size_t shuffle_16(const uint8_t *src,
			      const struct b2f_planes_to *planes, size_t nitems)
{
	return shuffle_pow2(src, 16, planes, nitems);
}

static void avx2_shuffle(const uint8_t *src, size_t width,
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
	else
		done = b2f_shuffle_squares_to(&avx2_square, src, width, planes,
					      nitems);
	b2f_shuffle_scalar_planes(src, width, planes, done, nitems);
}

static void avx2_unshuffle(const struct b2f_planes *planes, uint8_t *dst,
			   size_t width, size_t nitems)
{
	size_t done;

	if (planes->count != width || (width > 8 && width != 16))
		done = b2f_shuffle_squares(&avx2_square, planes, dst, width,
					   nitems);
	else if (width == 2)
		done = unshuffle_2(planes, dst, nitems);
	else if (width == 4)
		done = unshuffle_4(planes, dst, nitems);
	else if (width == 8)
		done = unshuffle_8(planes, dst, nitems);
	else if (width == 16)
		done = unshuffle_16(planes, dst, nitems);
	else
		done = b2f_shuffle_v16_below_8(planes, dst, nitems);
	b2f_shuffle_scalar_items(planes, dst, width, done, nitems);
}

/* Bits @n apart change places: high ones of @a with low ones of @b. */
AVX2 B2F_SHUFFLE_INLINE void swap_bits(__m256i *a, __m256i *b, int n,
				       __m256i mask)
{
	__m256i t = _mm256_xor_si256(_mm256_srli_epi16(*a, n), *b);

	t = _mm256_and_si256(t, mask);
	*b = _mm256_xor_si256(*b, t);
	*a = _mm256_xor_si256(*a, _mm256_slli_epi16(t, n));
}

/* Bit i of vector j and bit j of vector i change places. */
AVX2 B2F_SHUFFLE_INLINE void transpose_bits(__m256i v[16])
{
	static const uint8_t masks[3] = {0x0f, 0x33, 0x55};

	B2F_SHUFFLE_UNROLL
	for (unsigned int s = 0; s < 3; s++) {
		unsigned int n = 4 >> s;

		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++) {
			if (!(j & n))
				swap_bits(&v[j], &v[j + n], (int)n,
					  _mm256_set1_epi8((char)masks[s]));
		}
	}
}

AVX2 static void avx2_plane(const uint8_t *rows, size_t stride, uint8_t *plane,
			    size_t nbytes)
{
	__m256i v[16];
	size_t k;

	for (k = 0; k + 32 <= nbytes; k += 32) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			v[j] = load(rows + j * stride + k);
		transpose_bits(v);
		zip(v, 8);
		store_halves(plane + 8 * k, v, 8);
	}
	b2f_shuffle_scalar_plane(rows, stride, plane, k, nbytes);
}

AVX2 static void avx2_rows(const uint8_t *plane, uint8_t *rows, size_t stride,
			   size_t nbytes)
{
	__m256i v[16];
	size_t k;

	for (k = 0; k + 32 <= nbytes; k += 32) {
		load_halves(v, plane + 8 * k, 8);
		unzip(v, 8);
		transpose_bits(v);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			store(rows + j * stride + k, v[j]);
	}
	b2f_shuffle_scalar_rows(plane, rows, stride, k, nbytes);
}

static bool avx2_supported(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct b2f_shuffle_variant b2f_shuffle_avx2 = {
	.name = "avx2",
	.supported = avx2_supported,
	.unshuffle = avx2_unshuffle,
	.gather = avx2_gather,
	.plane = avx2_plane,
	.shuffle = avx2_shuffle,
	.rows = avx2_rows,
};

const struct b2f_shuffle_variant b2f_shuffle_avx512 = {
	.name = "avx512",
	.supported = b2f_shuffle_avx512_supported,
	.unshuffle = avx2_unshuffle,
	.gather = avx2_gather,
	.plane = b2f_shuffle_avx512_plane,
	.shuffle = avx2_shuffle,
	.rows = avx2_rows,
};

#endif
