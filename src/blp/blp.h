/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blp.h - header, chunk positions and metadata of a Bloscpack file
 *
 * docs/bloscpack.md has the bytes.  Nothing here decodes a chunk.
 *
 * Layer: blp.  May include: base/ codec/ filter/ chunk/ index/ store/.
 *
 * Threads: a struct b2f_blp is immutable once read.
 */
#ifndef B2F_BLP_BLP_H
#define B2F_BLP_BLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/why.h"
#include "blp/sum.h"
#include "chunk/encoder.h"
#include "store/store.h"

/* Bytes of the file's header, and of the header of its metadata. */
#define B2F_BLP_HEADER 32
#define B2F_BLP_VERSION 3

/* The first 32 bytes. */
struct b2f_blp_header {
	bool has_offsets;
	bool has_meta;
	const struct b2f_sum *sum;
	uint8_t typesize;
	/*
	 * Decoded bytes of each chunk but the last, and of the last; -1:
	 * unknown.
	 */
	int32_t chunk_size;
	int32_t last_chunk;
	/* -1: unknown, and the chunks end with the file; then @room is 0. */
	int64_t nchunks;
	/* Spare offsets for chunks to come. */
	int64_t room;
};

struct b2f_blp {
	struct b2f_blp_header header;
	/* Bytes of the file. */
	uint64_t size;
	/* The metadata, JSON text with a 0 behind it; malloc'ed, or NULL. */
	char *json;
	size_t json_len;
	/* Length of the metadata section, header and sum included; 0: none. */
	uint64_t meta_len;
	/* Position of the first byte that may belong to a chunk. */
	uint64_t start;
	/* Positions of the chunks, ascending; malloc'ed. */
	uint64_t *offs;
	uint64_t nchunks;
	/* Decoded bytes of all chunks. */
	uint64_t nbytes;
	/*
	 * Decoded bytes of each chunk but the last, which has at most as many;
	 * 0: the sizes differ.
	 */
	int32_t chunksize;
};

/* True if the @size bytes at @raw begin as a Bloscpack file does. */
bool b2f_blp_magic(const uint8_t *raw, size_t size);

/* Is the header of an empty file?  Bloscpack stores one chunk without bytes. */
static inline bool b2f_blp_is_empty(const struct b2f_blp_header *header)
{
	return header->chunk_size == 0 && header->last_chunk == 0 &&
	       header->nchunks == 1;
}

/* Writes the B2F_BLP_HEADER bytes of @header. */
void b2f_blp_header_write(const struct b2f_blp_header *header, uint8_t *out);

/*
 * blp_chunks.c: finds positions and sizes of the chunks: from the offsets, or
 * from the headers of the chunks, one after the other.  Returns 0,
 * B2F_ECORRUPT, B2F_EUNSUPPORTED, B2F_ETOOBIG, -ENOMEM or an errno, with the
 * cause in @why.
 */
B2F_MUST_CHECK
int b2f_blp_read_chunks(const struct b2f_object *file, struct b2f_blp *blp,
			struct b2f_why *why);

/*
 * Reads all but the chunks of @file into *@out; end it with b2f_blp_fini().
 * Returns 0, B2F_ENOTFRAME (another magic) or as b2f_blp_read_chunks().
 */
B2F_MUST_CHECK
int b2f_blp_read(const struct b2f_object *file, struct b2f_blp *out,
		 struct b2f_why *why);

void b2f_blp_fini(struct b2f_blp *blp);

/* The most stored bytes that @nbytes of data can take. */
static inline size_t b2f_blp_encode_bound(uint32_t nbytes)
{
	return (size_t)nbytes + B2F_CHUNK_HEADER_MIN;
}

/*
 * blp_encode.c: encodes @src (1 byte or more) into @dst, which has room for
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

/* Returns the highest possible end of chunk @i and its sum. */
uint64_t b2f_blp_chunk_end(const struct b2f_blp *blp, uint64_t i);

#endif
