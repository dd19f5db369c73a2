/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode_plan.h - the options of one chunk, with every choice made
 *
 * For the encoder of chunks, and for callers that have to know its choices
 * beforehand.
 *
 * Layer: chunk.  May include: base/ codec/ filter/.  Threads: pure functions.
 */
#ifndef B2F_CHUNK_ENCODE_PLAN_H
#define B2F_CHUNK_ENCODE_PLAN_H

#include "chunk/encoder.h"

struct b2f_encode_plan {
	uint32_t nbytes;
	/* Decoded bytes of every block but the last, > 0. */
	uint32_t blocksize;
	/* The header's type size: 1 when the real one is wider than 255. */
	uint8_t typesize;
	/* A codec that is built in. */
	const struct b2f_codec *codec;
	unsigned int code;
	unsigned int clevel;
	uint8_t codec_meta;
	/* Whole blocks are cut into typesize streams. */
	bool split;
	/* Nothing is compressed: the data are stored as they are. */
	bool as_is;
	bool substituted;
	/*
	 * Blosc 1 reads it: a header of B2F_CHUNK_HEADER_MIN bytes, and no
	 * runs.
	 */
	bool blosc1;
	struct b2f_pipeline pipeline;
};

/* Kinds of chunks, for b2f_encode_plan_header(). */
enum b2f_encode_kind {
	B2F_ENCODE_BLOCKS,
	B2F_ENCODE_AS_IS,
	B2F_ENCODE_VALUE,
};

/*
 * Checks @options and makes the plan for @nbytes.  Returns 0, -EINVAL or
 * B2F_ETOOBIG, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_encode_plan_make(const struct b2f_encode_options *options,
			 uint32_t nbytes, struct b2f_encode_plan *out,
			 struct b2f_why *why);

/* Bytes of the header of a chunk. */
static inline uint32_t b2f_encode_plan_head(const struct b2f_encode_plan *plan)
{
	return plan->blosc1 ? B2F_CHUNK_HEADER_MIN : B2F_CHUNK_HEADER_MAX;
}

/* Writes them to @dst. */
void b2f_encode_plan_header(const struct b2f_encode_plan *plan,
			    enum b2f_encode_kind kind, uint32_t cbytes,
			    uint8_t *dst);

#endif
