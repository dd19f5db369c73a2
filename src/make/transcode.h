/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transcode.h - chunks of a frame, on their way into another one
 *
 * Layer: make.  May include: base/ chunk/ index/ frame/.
 *
 * Threads: any number, each with a decoder and an encoder of its own.
 */
#ifndef B2F_MAKE_TRANSCODE_H
#define B2F_MAKE_TRANSCODE_H

#include "b2frame/file.h"
#include "chunk/encoder.h"
#include "frame/frame_chunk.h"
#include "index/index_write.h"
#include "make/pump.h"

/* How chunks are to be encoded. */
struct b2f_transcode {
	struct b2f_encode_options options;
	/* Zeros may be an entry alone, if they are a whole number of items. */
	bool special;
	/* The items are as wide as before, so special chunks can be kept. */
	bool same_items;
};

/*
 * Opens the data of @frame, which stays the caller's: of this version alone
 * (b2f_file_stay()).  Returns as b2f_file_open().
 */
B2F_MUST_CHECK
int b2f_transcode_open(struct b2f_runtime *runtime, struct b2f_frame *frame,
		       struct b2f_file **out);

/* Reads all @n bytes at @off of @file.  0, B2F_ECORRUPT (fewer) or an error. */
B2F_MUST_CHECK
int b2f_transcode_read(struct b2f_file *file, void *buf, uint64_t n,
		       uint64_t off);

/*
 * Chunk @nchunk of @frame, with all its stored bytes.  Free *@out with
 * b2f_loaded_free().  Returns as b2f_frame_load(); the cause is logged.
 */
B2F_MUST_CHECK
int b2f_transcode_load(struct b2f_frame *frame, uint64_t nchunk,
		       struct b2f_loaded **out);

/* Moves the stored bytes of @loaded, without a seal, to @piece. */
void b2f_transcode_take(struct b2f_loaded *loaded, struct b2f_piece *piece);

/*
 * Reads the stored bytes of chunk @piece->nchunk, with entry @raw and
 * @piece->nbytes decoded bytes.  Returns as b2f_frame_load_sound(); the cause
 * is logged.
 */
B2F_MUST_CHECK
int b2f_transcode_entry(struct b2f_frame *frame, uint64_t raw,
			struct b2f_decoder *dec, struct b2f_piece *piece);

/*
 * Encodes the @nbytes (> 0) at @data, or zeros.  Returns 0, -ENOMEM, or -EINVAL
 * (invalid options) with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_transcode_data(const struct b2f_transcode *how, struct b2f_encoder *enc,
		       const uint8_t *data, uint32_t nbytes,
		       struct b2f_piece *piece, struct b2f_why *why);
B2F_MUST_CHECK
int b2f_transcode_zeros(const struct b2f_transcode *how, uint32_t nbytes,
			struct b2f_piece *piece, struct b2f_why *why);

#endif
