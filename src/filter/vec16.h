/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vec16.h - vectors of 16 bytes: the part that SSE2 and NEON have in common
 *
 * Every x86-64 has SSE2 and every aarch64 has NEON, so code over this header
 * needs no choice at run time.  Elsewhere B2F_VEC16 is undefined.  The compiler
 * itself has & and ^ for them.
 *
 * Layer: filter.  Threads: pure functions.
 */
#ifndef B2F_FILTER_VEC16_H
#define B2F_FILTER_VEC16_H

#include <stdint.h>

#if defined(__SSE2__)

#include <emmintrin.h>

#define B2F_VEC16 "sse2"

typedef __m128i b2f_vec16;

static inline b2f_vec16 b2f_vec16_load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline void b2f_vec16_store(uint8_t *p, b2f_vec16 v)
{
	_mm_storeu_si128((__m128i *)(void *)p, v);
}

/* a0 b0 a1 b1 ... a7 b7 */
static inline b2f_vec16 b2f_vec16_zip_lo(b2f_vec16 a, b2f_vec16 b)
{
	return _mm_unpacklo_epi8(a, b);
}

/* a8 b8 a9 b9 ... a15 b15 */
static inline b2f_vec16 b2f_vec16_zip_hi(b2f_vec16 a, b2f_vec16 b)
{
	return _mm_unpackhi_epi8(a, b);
}

/* Adds byte by byte, modulo 256. */
static inline b2f_vec16 b2f_vec16_add(b2f_vec16 a, b2f_vec16 b)
{
	return _mm_add_epi8(a, b);
}

static inline b2f_vec16 b2f_vec16_fill(uint8_t x)
{
	return _mm_set1_epi8((char)x);
}

/*
 * Shifts the bits of each byte by 1, 2 or 4.  The bits that come in from the
 * next byte are rubbish: mask them away.
 */
static inline b2f_vec16 b2f_vec16_bits_down(b2f_vec16 v, int n)
{
	return _mm_srli_epi16(v, n);
}

static inline b2f_vec16 b2f_vec16_bits_up(b2f_vec16 v, int n)
{
	return _mm_slli_epi16(v, n);
}

/*
 * Running sums over the 16 bytes, and its last one in all bytes.  The shifts
 * move whole bytes to higher addresses.
 */
static inline b2f_vec16 b2f_vec16_running_sum(b2f_vec16 v)
{
	v = _mm_add_epi8(v, _mm_slli_si128(v, 1));
	v = _mm_add_epi8(v, _mm_slli_si128(v, 2));
	v = _mm_add_epi8(v, _mm_slli_si128(v, 4));
	return _mm_add_epi8(v, _mm_slli_si128(v, 8));
}

static inline b2f_vec16 b2f_vec16_fill_last(b2f_vec16 v)
{
	v = _mm_unpackhi_epi8(v, v);
	v = _mm_shufflehi_epi16(v, 0xff);
	return _mm_unpackhi_epi64(v, v);
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)

#include <arm_neon.h>

#define B2F_VEC16 "neon"

typedef uint8x16_t b2f_vec16;

static inline b2f_vec16 b2f_vec16_load(const uint8_t *p)
{
	return vld1q_u8(p);
}

static inline void b2f_vec16_store(uint8_t *p, b2f_vec16 v)
{
	vst1q_u8(p, v);
}

static inline b2f_vec16 b2f_vec16_zip_lo(b2f_vec16 a, b2f_vec16 b)
{
	return vzip1q_u8(a, b);
}

static inline b2f_vec16 b2f_vec16_zip_hi(b2f_vec16 a, b2f_vec16 b)
{
	return vzip2q_u8(a, b);
}

static inline b2f_vec16 b2f_vec16_add(b2f_vec16 a, b2f_vec16 b)
{
	return vaddq_u8(a, b);
}

static inline b2f_vec16 b2f_vec16_fill(uint8_t x)
{
	return vdupq_n_u8(x);
}

/* A count in a register: a negative one shifts down. */
static inline b2f_vec16 b2f_vec16_bits_down(b2f_vec16 v, int n)
{
	return vshlq_u8(v, vdupq_n_s8((int8_t)-n));
}

static inline b2f_vec16 b2f_vec16_bits_up(b2f_vec16 v, int n)
{
	return vshlq_u8(v, vdupq_n_s8((int8_t)n));
}

static inline b2f_vec16 b2f_vec16_running_sum(b2f_vec16 v)
{
	const uint8x16_t zero = vdupq_n_u8(0);

	v = vaddq_u8(v, vextq_u8(zero, v, 15));
	v = vaddq_u8(v, vextq_u8(zero, v, 14));
	v = vaddq_u8(v, vextq_u8(zero, v, 12));
	return vaddq_u8(v, vextq_u8(zero, v, 8));
}

static inline b2f_vec16 b2f_vec16_fill_last(b2f_vec16 v)
{
	return vdupq_laneq_u8(v, 15);
}

#endif

#endif
