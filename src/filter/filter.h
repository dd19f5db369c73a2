/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filter.h - the const table of filters
 *
 * A filter transforms one block (docs/format.md 2.7); it knows nothing of
 * streams and codecs.  Encoding applies it, decoding undoes it.
 *
 * Layer: filter.  May include: base/.
 *
 * Threads: the table is const and every function is pure.
 */
#ifndef B2F_FILTER_FILTER_H
#define B2F_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/why.h"

#define B2F_FILTER_SLOTS 6
#define B2F_GRID_MAX_DIM 8

enum b2f_filter_id {
	B2F_FILTER_NONE = 0,
	B2F_FILTER_SHUFFLE = 1,
	B2F_FILTER_BITSHUFFLE = 2,
	B2F_FILTER_DELTA = 3,
	B2F_FILTER_TRUNC_PREC = 4,
	B2F_FILTER_NDCELL = 32,
	B2F_FILTER_NDMEAN = 33,
	B2F_FILTER_BYTEDELTA_OLD = 34,
	B2F_FILTER_BYTEDELTA = 35,
	B2F_FILTER_INT_TRUNC = 36,
};

/* The block grid of a b2nd array, for ndcell and ndmean. */
struct b2f_filter_grid {
	/* 1..B2F_GRID_MAX_DIM */
	unsigned int ndim;
	/* Items per block in each dimension, > 0. */
	int32_t blockshape[B2F_GRID_MAX_DIM];
};

/* Facts about a block that filters may need besides its bytes. */
struct b2f_filter_block {
	/* Chunk header's: 1..255. */
	unsigned int typesize;
	/* Frame header's item size, may be > 255; 0 for a bare chunk. */
	uint32_t schunk_typesize;
	/* Version byte of the chunk; in version 2 bitshuffle differs. */
	unsigned int chunk_version;
	/*
	 * Block 0 of the chunk, decoded: the reference of delta.  NULL while
	 * decoding block 0 itself and in VL-block chunks, where every block
	 * stands alone.  At least as long as the block being decoded.
	 */
	const uint8_t *ref;
	/*
	 * NULL if the frame is no array, or has more than B2F_GRID_MAX_DIM
	 * dimensions.
	 */
	const struct b2f_filter_grid *grid;
};

enum b2f_filter_kind {
	/* Decoding does nothing (the lossy filters). */
	B2F_FILTER_IDENTITY,
	/* decode() wants @src == @dst. */
	B2F_FILTER_IN_PLACE,
	/* decode() wants @src and @dst not to overlap. */
	B2F_FILTER_MOVE,
};

struct b2f_filter {
	const char *name;
	uint8_t id;
	enum b2f_filter_kind kind;
	/*
	 * Refuses a @meta byte, or a block of @nbytes, that the filter cannot
	 * have made.  NULL: refuses nothing.  Returns 0, B2F_ECORRUPT, or
	 * B2F_EUNSUPPORTED if @block lacks a needed field.
	 */
	int (*check)(const struct b2f_filter_block *block, uint8_t meta,
		     size_t nbytes, struct b2f_why *why);
	/* Undoes the filter over @nbytes (> 0), which check() has passed. */
	void (*decode)(const struct b2f_filter_block *block, uint8_t meta,
		       const uint8_t *src, uint8_t *dst, size_t nbytes);
	/* True if encoding loses bits for good. */
	bool lossy;
	/*
	 * True if @meta is a parameter that encode() can use for items of
	 * @typesize.  NULL: any is.
	 */
	bool (*encodable)(unsigned int typesize, uint8_t meta);
	/*
	 * Applies the filter over @nbytes (> 0) of @src, which does not overlap
	 * @dst, whatever @kind says.  The block is as for decoding; its ref is
	 * block 0 before any filter.  NULL if it cannot be encoded here.
	 */
	void (*encode)(const struct b2f_filter_block *block, uint8_t meta,
		       const uint8_t *src, uint8_t *dst, size_t nbytes);
};

extern const struct b2f_filter b2f_filter_shuffle;
extern const struct b2f_filter b2f_filter_bitshuffle;
extern const struct b2f_filter b2f_filter_delta;
extern const struct b2f_filter b2f_filter_trunc_prec;
extern const struct b2f_filter b2f_filter_int_trunc;
extern const struct b2f_filter b2f_filter_ndcell;
extern const struct b2f_filter b2f_filter_ndmean;
extern const struct b2f_filter b2f_filter_bytedelta;
extern const struct b2f_filter b2f_filter_bytedelta_old;

/* The filter @id, or NULL if it is 0 or not built in. */
const struct b2f_filter *b2f_filter_by_id(unsigned int id);

/*
 * The running sum of bytedelta: replaces each of the @n bytes at @data by the
 * sum, modulo 256, of it and all before it; and the same without SIMD, for
 * tests.
 */
void b2f_bytedelta_sum(uint8_t *data, size_t n);
void b2f_bytedelta_sum_scalar(uint8_t *data, size_t n);

#endif
