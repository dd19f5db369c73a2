/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoder.h - what one thread needs to decode chunks: codec states, scratch
 *
 * Layer: chunk.  May include: base/ codec/ filter/.
 *
 * Threads: a decoder belongs to one thread at a time.
 */
#ifndef B2F_CHUNK_DECODER_H
#define B2F_CHUNK_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "codec/codec.h"

/*
 * A buffer that only grows.  Zero-initialize it, which is empty; end with
 * b2f_scratch_trim() to 0.
 */
struct b2f_scratch {
	uint8_t *data;
	size_t size;
};

/*
 * Makes @scratch at least @size bytes; its content is lost.  Returns 0 or
 * -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_scratch_reserve(struct b2f_scratch *scratch, size_t size);

/* Empties @scratch, and frees its memory, if it is above @limit bytes. */
void b2f_scratch_trim(struct b2f_scratch *scratch, size_t limit);

struct b2f_decoder {
	struct b2f_codec_states codecs;
	/* The other side of the filters' ping-pong; one block. */
	struct b2f_scratch filter;
	/* Always zeros, for streams that are all zeros. */
	struct b2f_scratch zeros;
	/* Stored bytes per block, read from the store. */
	struct b2f_scratch stored;
	/* Block 0, when only a later block of a delta chunk is wanted. */
	struct b2f_scratch ref;
};

/* Makes a decoder in *@out; free it with b2f_decoder_free(). 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_decoder_new(struct b2f_decoder **out);

/* NULL does nothing. */
void b2f_decoder_free(struct b2f_decoder *dec);

/* Gives back buffers above @limit bytes, after an unusually large block. */
void b2f_decoder_trim(struct b2f_decoder *dec, size_t limit);

/* Returns how much b2f_decoder_trim() would free. */
size_t b2f_decoder_excess(const struct b2f_decoder *dec, size_t limit);

#endif
