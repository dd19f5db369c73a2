/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunk_header.h - the 16 or 32 bytes at the start of a chunk
 *
 * docs/format.md 2.1 to 2.3 and 2.10; the checks of 7.
 *
 * Layer: chunk.  May include: base/ codec/ filter/.  Threads: pure functions.
 */
#ifndef B2F_CHUNK_CHUNK_HEADER_H
#define B2F_CHUNK_CHUNK_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/array.h"
#include "b2frame/error.h"
#include "base/attr.h"
#include "base/why.h"
#include "filter/pipeline.h"

#define B2F_CHUNK_HEADER_MIN 16
#define B2F_CHUNK_HEADER_MAX 32

/* Largest nbytes: every chunk has to fit an int32 with its overhead. */
#define B2F_CHUNK_NBYTES_MAX ((uint32_t)INT32_MAX - 32)

/*
 * May Blosc 1 split a block of @blocksize bytes into a stream for each byte of
 * an item? It makes at most 16 streams, of at least 128 bytes each.
 */
static inline bool b2f_blosc1_may_split(uint8_t typesize, uint32_t blocksize)
{
	return typesize <= 16 && blocksize / typesize >= 128;
}

/* The flags of a chunk; its format stands in the bits above them. */
enum {
	B2F_FLAG_SHUFFLE = 0x01,
	B2F_FLAG_MEMCPYED = 0x02,
	B2F_FLAG_BITSHUFFLE = 0x04,
	B2F_FLAG_DELTA = 0x08,
	B2F_FLAG_NO_SPLIT = 0x10,
	/* Both shuffles at once: Blosc1 never did that, so it says Blosc2. */
	B2F_FLAG_EXTENDED = B2F_FLAG_SHUFFLE | B2F_FLAG_BITSHUFFLE,
};

/* Bits 4..6 of blosc2_flags: the value of all items of a chunk without data. */
enum b2f_special {
	B2F_SPECIAL_NONE = 0,
	B2F_SPECIAL_ZEROS = 1,
	B2F_SPECIAL_NAN = 2,
	/* One value, stored behind the header, over and over. */
	B2F_SPECIAL_VALUE = 3,
	/* Anything; read as zeros. */
	B2F_SPECIAL_UNINIT = 4,
};

struct b2f_chunk_header {
	/* 16 or 32: where the table, or the data, begins. */
	uint32_t header_len;
	/* Decoded bytes of the chunk. */
	uint32_t nbytes;
	/*
	 * Decoded bytes per block, already cut to nbytes; the number of
	 * blocks if @vl.
	 */
	uint32_t blocksize;
	/* Stored bytes of the chunk, header included. */
	uint32_t cbytes;
	uint8_t version;
	/* 1..255; 1 when the real type is wider. */
	uint8_t typesize;
	/* enum b2f_codec_format; not checked, as raw data need no codec. */
	uint8_t format;
	/* enum b2f_codec_code of the writer; names the plugin. */
	uint8_t udcodec;
	uint8_t codec_meta;
	enum b2f_special special;
	/* Blocks have lengths of their own. */
	bool vl;
	/* The data stand behind the header as they are. */
	bool memcpyed;
	/* Each block is cut into typesize streams. */
	bool split;
	bool has_dict;
	struct b2f_pipeline pipeline;
};

/*
 * Parses and checks the header of the chunk whose first @size bytes are at
 * @raw; B2F_CHUNK_HEADER_MAX of them always suffice.
 *
 * Returns 0, B2F_ECORRUPT, or B2F_EUNSUPPORTED (a version or flag of the
 * future), with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_chunk_header_parse(const uint8_t *raw, size_t size,
			   struct b2f_chunk_header *out, struct b2f_why *why);

#endif
