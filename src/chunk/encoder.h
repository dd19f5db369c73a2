/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encoder.h - data into the stored bytes of a chunk
 *
 * Chunks follow the writer's checklist of docs/format.md (8): a chunk of
 * version 5 that every C-Blosc2 2.x and 3.x reads.  Splitting and the automatic
 * block size are those of C-Blosc2 (2.5).
 *
 * Encoding never fails because of the data: a stream, or a chunk, that does not
 * shrink is stored as it is.  A codec or filter that is not available (a plugin
 * codec, a filter that needs more than bytes, a lossy filter that was not asked
 * for) is replaced by a lossless one; every chunk says how it was made.
 *
 * Nothing here knows of files, indexes and checksums; see chunk/seal.h for the
 * last.
 *
 * Layer: chunk.  May include: base/ codec/ filter/.
 *
 * Threads: an encoder belongs to one thread at a time; all else is pure.
 */
#ifndef B2F_CHUNK_ENCODER_H
#define B2F_CHUNK_ENCODER_H

#include "chunk/chunk_header.h"
#include "chunk/decoder.h"

/* When blocks are cut into one stream for each byte of an item. */
enum b2f_split {
	/* The same as B2F_SPLIT_AUTO. */
	B2F_SPLIT_DEFAULT = 0,
	B2F_SPLIT_ALWAYS = 1,
	B2F_SPLIT_NEVER = 2,
	/*
	 * Where it is likely to pay.  C-Blosc2 makes no difference between the
	 * two, but python-blosc2 2.0.0 opens no frame whose header has the
	 * other.
	 */
	B2F_SPLIT_AUTO = 3,
	B2F_SPLIT_FORWARD = 4,
};

/* How to encode.  The frame's own settings fit in as they are. */
struct b2f_encode_options {
	/* Real item size, 1..B2F_BLOCKSIZE_MAX. */
	uint32_t typesize;
	/* enum b2f_codec_code, or the code of a plugin (then replaced). */
	unsigned int codec;
	/* 0 (stored as it is) to B2F_CLEVEL_MAX. */
	unsigned int clevel;
	/* Noted in the header; no codec here has a use for it. */
	uint8_t codec_meta;
	enum b2f_split split;
	/*
	 * Decoded bytes per block, rounded down to a multiple of typesize; 0
	 * chooses one.
	 */
	uint32_t blocksize;
	struct b2f_pipeline pipeline;
	/* Apply trunc_prec and int_trunc; without this they are left out. */
	bool allow_lossy;
};

/* The result of b2f_chunk_encode(). */
struct b2f_encoded {
	/* Stored bytes; 0 if @zeros. */
	uint32_t cbytes;
	/*
	 * All data are zeros and nothing was written: the caller chooses
	 * between an entry of the index and b2f_chunk_encode_value().
	 */
	bool zeros;
	/* Codec or filters differ from the requested ones. */
	bool substituted;
};

/*
 * Data of up to this size are encoded while a program closes its file, and take
 * nearly the same blocks of the disk at any level and with any item size:
 * nothing is worth the time but the lowest level.
 */
#define B2F_ENCODE_SHORT (16u << 10)

/* One thread's state for encoding chunks: codec states, scratch. */
struct b2f_encoder {
	struct b2f_codec_states codecs;
	/* The two sides of the filters' ping-pong; one block each. */
	struct b2f_scratch filter[2];
	/* Streams that are encoded only to learn their size. */
	struct b2f_scratch trial;
	/* Data that are put together to be encoded. */
	struct b2f_scratch data;
	/* For the caller: room for a chunk. */
	struct b2f_scratch chunk;
};

/* Makes an encoder in *@out; free it with b2f_encoder_free().  0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_encoder_new(struct b2f_encoder **out);

/* NULL does nothing. */
void b2f_encoder_free(struct b2f_encoder *enc);

/* Gives back buffers above @limit bytes, after an unusually large block. */
void b2f_encoder_trim(struct b2f_encoder *enc, size_t limit);

/* The most stored bytes that @nbytes of data can take; no chunk has more. */
static inline size_t b2f_chunk_encode_bound(uint32_t nbytes)
{
	return (size_t)nbytes + B2F_CHUNK_HEADER_MAX;
}

/*
 * Encodes @src, which may be empty, into @dst, which has room for at least
 * b2f_chunk_encode_bound().
 *
 * Returns 0; -EINVAL (invalid options, or too little room), B2F_ETOOBIG (@src
 * is above B2F_CHUNK_NBYTES_MAX) or -ENOMEM, with the cause in @why and rubbish
 * in @dst.
 */
B2F_MUST_CHECK
int b2f_chunk_encode(struct b2f_encoder *enc,
		     const struct b2f_encode_options *options,
		     struct b2f_bytes src, struct b2f_room dst,
		     struct b2f_encoded *out, struct b2f_why *why);

/*
 * Writes the special chunk of @nbytes (> 0) that repeats @value into @dst,
 * which has room for B2F_CHUNK_HEADER_MAX and @value.  With no bytes at NULL
 * for @value it is a chunk of zeros, special or not, and @dst has room for
 * b2f_chunk_encode_bound(@nbytes).  (The kind of special chunk that stands for
 * zeros alone belongs into an index: C-Blosc2 does not read it from a chunk
 * file.)
 *
 * *@cbytes is at most b2f_chunk_encode_bound(@nbytes).
 *
 * Returns 0, or -EINVAL (@nbytes is no multiple of the size of @value, or
 * options that cannot be), B2F_ETOOBIG; with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_chunk_encode_value(const struct b2f_encode_options *options,
			   uint32_t nbytes, struct b2f_bytes value,
			   uint8_t *dst, uint32_t *cbytes, struct b2f_why *why);

/*
 * Guesses the item size of the @size bytes at @data from a sample of them: of
 * 1, 2, 4, 8 and 16 the one that compresses best, the smaller one in doubt.
 * 1 for no data, and for short text in ASCII.
 *
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_encode_guess_typesize(struct b2f_encoder *enc, const uint8_t *data,
			      size_t size, uint32_t *out);

#endif
