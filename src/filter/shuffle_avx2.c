/* SPDX-License-Identifier: BSD-3-Clause */
/* shuffle_avx2.c - shuffle and bitshuffle with AVX2 */
#include "filter/shuffle_impl.h"

#ifdef B2F_SHUFFLE_X86

#include <immintrin.h>

#define TARGET	 __attribute__((target("avx2")))
#define VEC	 __m256i
#define STEP	 32
#define OP(name) avx2_##name

TARGET B2F_SHUFFLE_INLINE __m256i avx2_load(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

TARGET B2F_SHUFFLE_INLINE void avx2_store(uint8_t *p, __m256i v)
{
	_mm256_storeu_si256((__m256i *)(void *)p, v);
}

TARGET B2F_SHUFFLE_INLINE __m256i avx2_fill(uint8_t x)
{
	return _mm256_set1_epi8((char)x);
}

TARGET B2F_SHUFFLE_INLINE __m256i avx2_zip_lo(__m256i a, __m256i b)
{
	return _mm256_unpacklo_epi8(a, b);
}

TARGET B2F_SHUFFLE_INLINE __m256i avx2_zip_hi(__m256i a, __m256i b)
{
	return _mm256_unpackhi_epi8(a, b);
}

TARGET B2F_SHUFFLE_INLINE __m256i avx2_bits_down(__m256i v, int n)
{
	return _mm256_srli_epi16(v, n);
}

TARGET B2F_SHUFFLE_INLINE __m256i avx2_bits_up(__m256i v, int n)
{
	return _mm256_slli_epi16(v, n);
}

TARGET B2F_SHUFFLE_INLINE __m256i load_parts(const uint8_t *p, size_t apart)
{
	__m256i low = _mm256_castsi128_si256(b2f_vec16_load(p));

	return _mm256_inserti128_si256(low, b2f_vec16_load(p + apart), 1);
}

TARGET B2F_SHUFFLE_INLINE void store_all(uint8_t *dst, const __m256i v[16],
					 unsigned int n)
{
	B2F_SHUFFLE_UNROLL
	for (unsigned int j = 0; j < n; j += 2) {
		avx2_store(dst + 16 * j,
			   _mm256_permute2x128_si256(v[j], v[j + 1], 0x20));
		avx2_store(dst + 16 * n + 16 * j,
			   _mm256_permute2x128_si256(v[j], v[j + 1], 0x31));
	}
}

TARGET B2F_SHUFFLE_INLINE void store_items(uint8_t *dst, size_t width,
					   const __m256i v[16])
{
	B2F_SHUFFLE_UNROLL
	for (size_t k = 0; k < 16; k++)
		b2f_vec16_store(dst + k * width, _mm256_castsi256_si128(v[k]));
	B2F_SHUFFLE_UNROLL
	for (size_t k = 0; k < 16; k++)
		b2f_vec16_store(dst + (16 + k) * width,
				_mm256_extracti128_si256(v[k], 1));
}

#include "filter/shuffle_body.h"

TARGET B2F_SHUFFLE_INLINE size_t gather_pow2(const uint8_t *const *planes,
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
	for (i = 0; i + STEP <= nitems; i += STEP) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = avx2_load(from[j] + i);
		zip(v, n);
		store_all(dst + i * n, v, n);
	}
	return i;
}

TARGET static size_t gather(const uint8_t *const *planes, uint8_t *dst,
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

static bool avx2_supported(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct b2f_shuffle_variant b2f_shuffle_avx2 = {
	.name = "avx2",
	.supported = avx2_supported,
	.unshuffle = unshuffle,
	.gather = gather,
	.plane = plane_of_rows,
	.shuffle = shuffle,
	.rows = rows_of_plane,
};

const struct b2f_shuffle_variant b2f_shuffle_avx512 = {
	.name = "avx512",
	.supported = b2f_shuffle_avx512_supported,
	.unshuffle = unshuffle,
	.gather = gather,
	.plane = b2f_shuffle_avx512_plane,
	.shuffle = shuffle,
	.rows = rows_of_plane,
};

#endif
