/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shuffle_impl.h - the SIMD variants behind shuffle and bitshuffle
 *
 * Private to src/filter and its tests, which hold every variant against the
 * scalar one.
 *
 * All of them rest on one fact.  Let n vectors (a power of 2) hold n planes,
 * and number all their bytes: the plane is the high part of the number.
 * Interleaving vector j with vector j + n/2, for all j < n/2, moves the highest
 * bit of every number to its lowest place.  Do that log2(n) times and the plane
 * is the low part: the planes are interleaved.
 *
 * Encoding wants the way back, from items to planes, and the same fact gives
 * it: interleaving turns the number of a byte round by one bit, so turning on
 * until the plane is the high part again undoes it.  With vectors of 16 bytes
 * that takes 4 steps in all, whatever n.
 *
 * Bit shuffle is the same after a step on bits: 8 rows, one for each bit of a
 * byte, become one plane of bytes.  The planes of a tile that fits in the L1
 * cache are then interleaved into their place in the block.  Encoding takes the
 * two steps in the other order.
 *
 * Layer: filter.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_FILTER_SHUFFLE_IMPL_H
#define B2F_FILTER_SHUFFLE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/vec16.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define B2F_SHUFFLE_X86 1
#endif

/* The helpers of a variant have to vanish: they pass vectors in arrays. */
#define B2F_SHUFFLE_INLINE static inline __attribute__((always_inline))

/* Unrolled so that the arrays of vectors become registers. */
#define B2F_SHUFFLE_UNROLL _Pragma("GCC unroll 16")

/* @count planes of bytes, @stride bytes from one to the next. */
struct b2f_planes {
	/* Only read where items are made of planes. */
	uint8_t *data;
	size_t stride;
	size_t count;
};

struct b2f_shuffle_variant {
	const char *name;
	/* True if this machine has the instructions. */
	bool (*supported)(void);
	/*
	 * Byte i of plane j goes to @dst[i * @width + j], for i < @nitems.
	 * @width is at least planes->count; the bytes of the other planes are
	 * left alone.
	 */
	void (*unshuffle)(const struct b2f_planes *planes, uint8_t *dst,
			  size_t width, size_t nitems);
	/*
	 * Like unshuffle() with planes->count == @width, but plane j is at
	 * @planes[j].  Returns the number of items done: 0 for a width without
	 * special code.  NULL: no width has special code.
	 */
	size_t (*gather)(const uint8_t *const *planes, uint8_t *dst,
			 size_t width, size_t nitems);
	/*
	 * Makes one plane of 8 * @nbytes bytes out of 8 rows of @nbytes,
	 * @stride apart: bit r of @plane[8 * k + q] is bit q of byte k of row
	 * r.
	 */
	void (*plane)(const uint8_t *rows, size_t stride, uint8_t *plane,
		      size_t nbytes);
	/* Undoes unshuffle(): items at @src, @width apart. */
	void (*shuffle)(const uint8_t *src, size_t width,
			const struct b2f_planes *planes, size_t nitems);
	/* Undoes plane(). */
	void (*rows)(const uint8_t *plane, uint8_t *rows, size_t stride,
		     size_t nbytes);
};

extern const struct b2f_shuffle_variant b2f_shuffle_scalar;
#ifdef B2F_VEC16
extern const struct b2f_shuffle_variant b2f_shuffle_v16;
#endif
#ifdef B2F_SHUFFLE_X86
extern const struct b2f_shuffle_variant b2f_shuffle_avx2;
/* Like AVX2, but with its own plane() (shuffle_avx512.c). */
extern const struct b2f_shuffle_variant b2f_shuffle_avx512;
bool b2f_shuffle_avx512_supported(void);
void b2f_shuffle_avx512_plane(const uint8_t *rows, size_t stride,
			      uint8_t *plane, size_t nbytes);
#endif

/* Ends with NULL; fastest first, the scalar one last. */
extern const struct b2f_shuffle_variant *const b2f_shuffle_variants[];

/* The fastest variant that this machine supports. */
const struct b2f_shuffle_variant *b2f_shuffle_best(void);

/*
 * For the end of a block, shorter than a vector: items or bytes from @done on.
 */
void b2f_shuffle_scalar_items(const struct b2f_planes *planes, uint8_t *dst,
			      size_t width, size_t done, size_t nitems);
void b2f_shuffle_scalar_plane(const uint8_t *rows, size_t stride,
			      uint8_t *plane, size_t done, size_t nbytes);
void b2f_shuffle_scalar_planes(const uint8_t *src, size_t width,
			       const struct b2f_planes *planes, size_t done,
			       size_t nitems);
void b2f_shuffle_scalar_rows(const uint8_t *plane, uint8_t *rows, size_t stride,
			     size_t done, size_t nbytes);

/* The functions of a variant for widths without their own code. */
struct b2f_shuffle_square {
	/* Items done by one call, at most 32. */
	size_t nitems;
	/*
	 * Unshuffles so many items of up to 16 planes.  Writes 16 bytes for
	 * each item, in the order of the items; those beyond planes->count are
	 * rubbish.  (A variant may have other code for less than 16 planes.)
	 */
	void (*unshuffle)(const struct b2f_planes *planes, uint8_t *dst,
			  size_t width);
	/*
	 * Shuffles so many items into up to 16 planes.  Reads 16 bytes at each
	 * item.
	 */
	void (*shuffle)(const uint8_t *src, size_t width,
			const struct b2f_planes *planes);
};

/*
 * Unshuffles square by square all that can be done so; returns the number of
 * items done.
 */
size_t b2f_shuffle_squares(const struct b2f_shuffle_square *square,
			   const struct b2f_planes *planes, uint8_t *dst,
			   size_t width, size_t nitems);

/* Shuffles whole squares; returns the number of items done. */
size_t b2f_shuffle_squares_to(const struct b2f_shuffle_square *square,
			      const uint8_t *src, size_t width,
			      const struct b2f_planes *planes, size_t nitems);

#ifdef B2F_VEC16
/* For 3, 5, 6 and 7 planes; returns the number of items done. */
size_t b2f_shuffle_v16_below_8(const struct b2f_planes *planes, uint8_t *dst,
			       size_t nitems);
#endif

/*
 * Applies the whole filter over @nbytes with one variant: @src and @dst do not
 * overlap.
 */
void b2f_shuffle_apply(const struct b2f_shuffle_variant *variant, size_t width,
		       const uint8_t *src, uint8_t *dst, size_t nbytes);
void b2f_bitshuffle_apply(const struct b2f_shuffle_variant *variant,
			  size_t typesize, const uint8_t *src, uint8_t *dst,
			  size_t nbytes);

/*
 * Undoes the whole filter over @nbytes with one variant: @src and @dst do not
 * overlap.  @version: the format version of the chunk.
 */
void b2f_shuffle_undo(const struct b2f_shuffle_variant *variant, size_t width,
		      const uint8_t *src, uint8_t *dst, size_t nbytes);
/*
 * Undoes the filter over @nitems items whose @width planes are at @planes[0],
 * @planes[1] and so on.
 */
void b2f_shuffle_gather(const struct b2f_shuffle_variant *variant,
			const uint8_t *const *planes, size_t width,
			uint8_t *dst, size_t nitems);

void b2f_bitshuffle_undo(const struct b2f_shuffle_variant *variant,
			 size_t typesize, unsigned int version,
			 const uint8_t *src, uint8_t *dst, size_t nbytes);

#endif
