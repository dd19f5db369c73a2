/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blp_encode.h - chunks that Blosc 1 reads
 *
 * Layer: blp.  May include: base/ codec/ filter/ chunk/.
 *
 * Threads: pure functions, but for the encoder.
 */
#ifndef B2F_BLP_BLP_ENCODE_H
#define B2F_BLP_BLP_ENCODE_H

#include "chunk/encoder.h"

/* The most stored bytes that @nbytes of data can take. */
static inline size_t b2f_blp_encode_bound(uint32_t nbytes)
{
	return (size_t)nbytes + B2F_CHUNK_HEADER_MIN;
}

/*
 * Encodes @src (1 byte or more) into @dst, which has room for
 * b2f_blp_encode_bound(); *@cbytes are used.  Applies one kind of shuffle, if
 * the filters of @options have one, and replaces codecs that Blosc 1 does not
 * know.
 *
 * Returns 0, -EINVAL (impossible options), B2F_ETOOBIG or -ENOMEM, with the
 * cause in @why.
 */
B2F_MUST_CHECK
int b2f_blp_encode(struct b2f_encoder *enc,
		   const struct b2f_encode_options *options,
		   struct b2f_bytes src, uint8_t *dst, uint32_t *cbytes,
		   struct b2f_why *why);

#endif
