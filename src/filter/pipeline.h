/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline.h - the six filter slots of a chunk, applied and undone in turn
 *
 * Layer: filter.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_FILTER_PIPELINE_H
#define B2F_FILTER_PIPELINE_H

#include "filter/filter.h"

struct b2f_pipeline {
	/* Slot 0 first, as the chunk header has them; 0 is an empty slot. */
	uint8_t filter[B2F_FILTER_SLOTS];
	uint8_t meta[B2F_FILTER_SLOTS];
};

/*
 * Refuses what b2f_pipeline_decode() could not undo for a block of @nbytes.
 * Returns 0, B2F_ECORRUPT or B2F_EUNSUPPORTED, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_pipeline_check(const struct b2f_pipeline *pipeline,
		       const struct b2f_filter_block *block, size_t nbytes,
		       struct b2f_why *why);

/* True if decoding has to read block 0 of the chunk first (delta). */
bool b2f_pipeline_needs_ref(const struct b2f_pipeline *pipeline);

/*
 * Returns the buffer for the encoded block, so that b2f_pipeline_decode()
 * leaves the decoded block in @dst: @dst itself, or @tmp if an odd number of
 * filters moves the bytes.
 */
uint8_t *b2f_pipeline_start(const struct b2f_pipeline *pipeline, uint8_t *dst,
			    uint8_t *tmp);

/* True if decoding uses @tmp at all. */
bool b2f_pipeline_needs_tmp(const struct b2f_pipeline *pipeline);

/*
 * Undoes slot 5 down to slot 0 over the @nbytes that the caller has put at
 * b2f_pipeline_start(@pipeline, @dst, @tmp); the result is in @dst.  @dst and
 * @tmp have @nbytes each and do not overlap.  b2f_pipeline_check() must have
 * passed for the same arguments.
 */
void b2f_pipeline_decode(const struct b2f_pipeline *pipeline,
			 const struct b2f_filter_block *block, uint8_t *dst,
			 uint8_t *tmp, size_t nbytes);

/*
 * Makes @out the pipeline that stands in for @wanted when items of @typesize
 * (chunk header's) and @schunk_typesize (the real one) are encoded here.
 * Filters that cannot be encoded here are left out, and so are lossy filters
 * unless @allow_lossy; a chunk names its own filters.
 * bytedelta gets its number of channels as its meta byte, so that the chunk can
 * be decoded without the frame.
 *
 * Returns true if @out does what @wanted does.
 */
bool b2f_pipeline_encodable(const struct b2f_pipeline *wanted,
			    unsigned int typesize, uint32_t schunk_typesize,
			    bool allow_lossy, struct b2f_pipeline *out);

/*
 * Applies slot 0 up to slot 5 over the @nbytes at @src, which stay unchanged.
 * @a and @b have @nbytes each and overlap neither @src nor each other; @b is
 * used if two filters or more are active, @a if one is.
 *
 * Every active filter must have passed b2f_pipeline_encodable().  Returns where
 * the result is: @src, @a or @b.
 */
const uint8_t *b2f_pipeline_encode(const struct b2f_pipeline *pipeline,
				   const struct b2f_filter_block *block,
				   const uint8_t *src, uint8_t *a, uint8_t *b,
				   size_t nbytes);

/* The most planes of b2f_pipeline_decode_planes(). */
#define B2F_PLANES_MAX 8

/*
 * Does decoding a block of @nbytes only interleave @nplanes planes of equal
 * length (byte shuffle alone), and is there fast code for it?  If so, the
 * planes need not be contiguous.
 */
bool b2f_pipeline_takes_planes(const struct b2f_pipeline *pipeline,
			       const struct b2f_filter_block *block,
			       size_t nplanes, size_t nbytes);

/*
 * Decodes a block from its @nplanes planes of @each bytes into @dst, if
 * b2f_pipeline_takes_planes().
 */
void b2f_pipeline_decode_planes(const uint8_t *const *planes, size_t nplanes,
				size_t each, uint8_t *dst);

#endif
