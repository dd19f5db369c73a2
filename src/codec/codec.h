/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec.h - the const table of codecs
 *
 * A codec turns one stream into bytes; it knows nothing of blocks, filters or
 * chunks.  blosclz is this project's own; the bitstreams of the others come
 * from liblz4, zlib and libzstd.
 *
 * Codecs are counted twice (docs/format.md 2.3): by *format* (bits 5..7 of a
 * chunk's flags; lz4 and lz4hc share one) and by *code* (frame header, udcodec
 * byte).  Decoding goes by format, encoding by code.
 *
 * Layer: codec.  May include: base/.
 *
 * Threads: the table is const.  A struct b2f_codec_states belongs to one thread
 * at a time.
 */
#ifndef B2F_CODEC_CODEC_H
#define B2F_CODEC_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/bytes.h"
#include "base/why.h"

/* Bits 5..7 of a chunk's flags. */
enum b2f_codec_format {
	B2F_FORMAT_BLOSCLZ = 0,
	B2F_FORMAT_LZ4 = 1,
	/* In files of Blosc 1; not built in. */
	B2F_FORMAT_SNAPPY = 2,
	B2F_FORMAT_ZLIB = 3,
	B2F_FORMAT_ZSTD = 4,
	/* The code stands in the chunk's udcodec byte. */
	B2F_FORMAT_PLUGIN = 6,
	B2F_FORMATS = 8,
};

/* Frame header and udcodec byte. */
enum b2f_codec_code {
	B2F_CODEC_BLOSCLZ = 0,
	B2F_CODEC_LZ4 = 1,
	B2F_CODEC_LZ4HC = 2,
	B2F_CODEC_ZLIB = 4,
	B2F_CODEC_ZSTD = 5,
	B2F_CODECS = 6,
};

/* Levels of all codecs: 0 stores uncompressed, 9 is the slowest. */
#define B2F_CLEVEL_MAX 9

/* Largest dictionary of a chunk, bytes (docs/format.md 2.8). */
#define B2F_DICT_MAX 32768

struct b2f_codec {
	const char *name;
	/* The format of its streams. */
	enum b2f_codec_format format;
	/*
	 * Makes what one thread needs to decode, or returns NULL: no memory.
	 * Without these the codec needs nothing.
	 */
	void *(*state_new)(void);
	void (*state_free)(void *state);
	/*
	 * Makes @dict (@size bytes, 1..B2F_DICT_MAX, which must live until the
	 * next call) the dictionary of the decode calls that follow; @dict NULL
	 * ends that.  NULL if the codec has no dictionaries.  Returns 0,
	 * -ENOMEM or B2F_ECORRUPT.
	 */
	int (*dict_set)(void *state, const uint8_t *dict, size_t size);
	/*
	 * Decodes the @src_size (> 0) hostile bytes at @src into exactly
	 * @dst_size (> 0) bytes at @dst; on failure @dst holds rubbish.
	 * Returns 0, B2F_ECORRUPT or -ENOMEM.
	 */
	int (*decode)(void *state, const uint8_t *src, size_t src_size,
		      uint8_t *dst, size_t dst_size);
	/* Like state_new() and state_free(), for encoding. */
	void *(*encoder_new)(void);
	void (*encoder_free)(void *encoder);
	/*
	 * Encodes the @src_size (> 0) bytes at @src, at @level 1..9, into at
	 * most @room bytes at @dst; bytes of @dst beyond the result, but
	 * within @room, may be overwritten.
	 *
	 * Returns the size of the stream, 0 if it does not fit in @room (no
	 * error: the caller then stores the bytes uncompressed) or -ENOMEM.
	 */
	int64_t (*encode)(void *encoder, unsigned int level, const uint8_t *src,
			  size_t src_size, uint8_t *dst, size_t room);
};

extern const struct b2f_codec b2f_codec_blosclz;
extern const struct b2f_codec b2f_codec_lz4;
/* Only encodes; lz4 decodes its streams. */
extern const struct b2f_codec b2f_codec_lz4hc;
extern const struct b2f_codec b2f_codec_zlib;
extern const struct b2f_codec b2f_codec_zstd;

/* Returns the codec of @format, or NULL if it is reserved or a plugin. */
const struct b2f_codec *b2f_codec_by_format(unsigned int format);

/* Returns the codec that encodes for @code, or NULL if there is none. */
const struct b2f_codec *b2f_codec_by_code(unsigned int code);

/* blosclz_encode.c: the encoder of b2f_codec_blosclz. */
void *b2f_blosclz_encoder_new(void);
int64_t b2f_blosclz_encode(void *encoder, unsigned int level,
			   const uint8_t *src, size_t src_size, uint8_t *dst,
			   size_t room);

/*
 * The states of all codecs for one thread, made when first needed.
 * Zero-initialize it.
 */
struct b2f_codec_states {
	void *decoder[B2F_FORMATS];
	void *encoder[B2F_CODECS];
	/* The codec that has a dictionary set, or NULL. */
	const struct b2f_codec *dict;
};

void b2f_codec_states_fini(struct b2f_codec_states *states);

/*
 * Sets the dictionary of @format for the b2f_codec_states_decode() calls that
 * follow, or with @dict NULL ends it (that never fails).
 *
 * Returns 0, -ENOMEM, B2F_ECORRUPT (not a dictionary) or B2F_EUNSUPPORTED (the
 * codec has none), with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_codec_states_dict(struct b2f_codec_states *states, unsigned int format,
			  const uint8_t *dict, size_t size,
			  struct b2f_why *why);

/*
 * Decodes the stream @src, which has to fill @dst, as struct b2f_codec's decode
 * does.
 *
 * Returns 0, B2F_ECORRUPT, -ENOMEM, or B2F_EUNSUPPORTED (no codec has
 * @format), with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_codec_states_decode(struct b2f_codec_states *states,
			    unsigned int format, struct b2f_bytes src,
			    struct b2f_room dst, struct b2f_why *why);

/*
 * Encodes @src as one stream with codec @code, as struct b2f_codec's encode
 * does; at @level 0, or from 0 bytes, nothing fits.
 *
 * Streams are made without a dictionary.
 *
 * Returns the size of the stream, 0 if it does not fit in @dst, -ENOMEM, or
 * B2F_EUNSUPPORTED (nothing encodes for @code).
 */
B2F_MUST_CHECK
int64_t b2f_codec_states_encode(struct b2f_codec_states *states,
				unsigned int code, unsigned int level,
				struct b2f_bytes src, struct b2f_room dst);

#endif
