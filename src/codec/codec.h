/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec.h - the const table of codecs
 *
 * A codec turns one stream into bytes; it knows nothing of blocks, filters or
 * chunks.  blosclz is this project's own; the bitstreams of the others come
 * from liblz4, zlib and libzstd.
 *
 * The format notes (1.4) count codecs twice: by *format* (bits 5..7 of a
 * chunk's flags; lz4 and lz4hc share one) and by *code* (frame header, udcodec
 * byte).  Decoding goes by format.
 *
 * Layer: codec.  May include: base/.
 *
 * Threads: the table is const.  A struct b2f_codec_states belongs to one
 * thread at a time.
 */
#ifndef B2F_CODEC_CODEC_H
#define B2F_CODEC_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/why.h"

/* Bits 5..7 of a chunk's flags. */
enum b2f_codec_format {
	B2F_FORMAT_BLOSCLZ = 0,
	B2F_FORMAT_LZ4 = 1,
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
};

/* Largest dictionary of a chunk, bytes (format notes 1.9). */
#define B2F_DICT_MAX 32768

struct b2f_codec {
	const char *name;
	/*
	 * Makes what one thread needs to decode, in *@out; NULL if the codec
	 * needs nothing.  Returns 0 or -ENOMEM.
	 */
	int (*state_new)(void **out);
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
};

extern const struct b2f_codec b2f_codec_blosclz;
extern const struct b2f_codec b2f_codec_lz4;
extern const struct b2f_codec b2f_codec_zlib;
extern const struct b2f_codec b2f_codec_zstd;

/* The codec of @format, or NULL if it is reserved or a plugin. */
const struct b2f_codec *b2f_codec_by_format(unsigned int format);

/*
 * The name of codec @code, of plugins too ("zfp-rate"); "unknown" for a number
 * that nobody registered.  Never NULL.
 */
const char *b2f_codec_code_name(unsigned int code);

/* The states of all codecs for one thread, made when first needed. */
struct b2f_codec_states {
	void *state[B2F_FORMATS];
	/* The format that has a dictionary set, or B2F_FORMATS. */
	unsigned int dict_format;
};

void b2f_codec_states_init(struct b2f_codec_states *states);
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
 * Decodes one stream as struct b2f_codec's decode does.
 *
 * Returns 0, B2F_ECORRUPT, -ENOMEM, or B2F_EUNSUPPORTED (no codec has
 * @format), with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_codec_states_decode(struct b2f_codec_states *states,
			    unsigned int format, const uint8_t *src,
			    size_t src_size, uint8_t *dst, size_t dst_size,
			    struct b2f_why *why);

#endif
