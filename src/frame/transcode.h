/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transcode.h - chunks of a frame, on their way into another one
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.
 *
 * Threads: any number, each with a decoder and an encoder of its own.
 */
#ifndef B2F_FRAME_TRANSCODE_H
#define B2F_FRAME_TRANSCODE_H

#include "chunk/encoder.h"
#include "frame/build.h"
#include "frame/frame_chunk.h"
#include "index/index_write.h"

/* How chunks are to be encoded. */
struct b2f_transcode {
	struct b2f_encode_options options;
	/* Zeros may be an entry alone, if they are a whole number of items. */
	bool special;
	/* The items are as wide as before, so special chunks can be kept. */
	bool same_items;
};

/*
 * Decodes all of @loaded into @buf, which has room for its nbytes.  Returns as
 * b2f_frame_decode_unit().
 */
B2F_MUST_CHECK
int b2f_transcode_decode(struct b2f_frame *frame,
			 const struct b2f_loaded *loaded,
			 struct b2f_decoder *dec, uint8_t *buf);

/* Does the same to see whether that works, and drops the data.  -ENOMEM too. */
B2F_MUST_CHECK
int b2f_transcode_check(struct b2f_frame *frame,
			const struct b2f_loaded *loaded,
			struct b2f_decoder *dec);

/*
 * Chunk @nchunk of @frame as it is stored; @dec, if not NULL, decodes it to see
 * whether it is sound.  The caller frees @out->bytes.  Returns as
 * b2f_frame_load(); the cause is logged.
 */
B2F_MUST_CHECK
int b2f_transcode_copy(struct b2f_frame *frame, uint64_t nchunk,
		       struct b2f_decoder *dec, struct b2f_build_chunk *out);

/*
 * Encodes the @nbytes (> 0) at @data.  The caller frees @out->bytes.  Returns
 * 0, -ENOMEM, or -EINVAL (options that cannot be) with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_transcode_data(const struct b2f_transcode *how, struct b2f_encoder *enc,
		       const uint8_t *data, uint32_t nbytes,
		       struct b2f_build_chunk *out, struct b2f_why *why);

/*
 * Decodes chunk @nchunk of @frame and encodes it anew.  The caller frees
 * @out->bytes.  Returns as b2f_frame_load(), or B2F_EUNSUPPORTED (blocks of
 * different lengths); the cause is logged.
 */
B2F_MUST_CHECK
int b2f_transcode_chunk(const struct b2f_transcode *how,
			struct b2f_frame *frame, uint64_t nchunk,
			struct b2f_decoder *dec, struct b2f_encoder *enc,
			struct b2f_build_chunk *out);

#endif
