/* SPDX-License-Identifier: BSD-3-Clause */
/* blp_frame.c - the parts of a frame that a Bloscpack file does not have */
#include "blp/blp_frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "blp/blp_store.h"
#include "chunk/encoder.h"
#include "codec/codec.h"
#include "index/index_write.h"

/* Level for new chunks: stored chunks do not tell theirs. */
#define CLEVEL 5

/* Blosc 1 splits blocks by this rule. */
#define SPLIT_AUTO 3

static uint8_t codec_of(const struct b2f_chunk_header *h)
{
	switch (h->format) {
	case B2F_FORMAT_LZ4:
		return B2F_CODEC_LZ4;
	case B2F_FORMAT_ZLIB:
		return B2F_CODEC_ZLIB;
	case B2F_FORMAT_ZSTD:
		return B2F_CODEC_ZSTD;
	default:
		return B2F_CODEC_BLOSCLZ;
	}
}

static struct b2f_frame_header header_of(const struct b2f_blp *blp,
					 const struct b2f_chunk_header *first)
{
	struct b2f_frame_header h = {
		.nbytes = blp->nbytes,
		.cbytes = blp->size,
		.typesize = blp->header.typesize ? blp->header.typesize : 1,
		.chunksize = blp->chunksize,
		.version = 2,
		.clevel = CLEVEL,
		.splitmode = SPLIT_AUTO,
	};

	if (first) {
		h.codec = codec_of(first);
		h.pipeline = first->pipeline;
	}
	return h;
}

/* The chunk of a vlmetalayer: the text of the metadata, as MessagePack. */
static int encode_meta(const struct b2f_blp *blp, uint8_t **out, size_t *size,
		       struct b2f_why *why)
{
	static const struct b2f_encode_options options = {
		.typesize = 1, .codec = B2F_CODEC_ZSTD, .clevel = CLEVEL};
	uint32_t n = (uint32_t)blp->json_len + 5;
	size_t room = b2f_chunk_encode_bound(n);
	uint8_t *text = malloc(n), *chunk = malloc(room);
	struct b2f_encoded encoded = {0};
	struct b2f_encoder *enc = NULL;
	int err = text && chunk ? b2f_encoder_new(&enc) : -ENOMEM;

	if (!err) {
		text[0] = 0xdb;
		b2f_store_be32(text + 1, n - 5);
		memcpy(text + 5, blp->json, n - 5);
		err = b2f_chunk_encode(enc, &options, b2f_bytes_at(text, n),
				       b2f_room_at(chunk, room), &encoded, why);
	}
	b2f_encoder_free(enc);
	free(text);
	if (err) {
		free(chunk);
		return err;
	}
	*out = chunk;
	*size = encoded.cbytes;
	return 0;
}

static int make_trailer(const struct b2f_blp *blp, uint8_t **out, size_t *size,
			struct b2f_why *why)
{
	struct b2f_meta meta = {.name = B2F_BLP_META,
				.name_len = strlen(B2F_BLP_META)};
	const struct b2f_meta_list metas = {.items = &meta,
					    .n = blp->json ? 1 : 0};
	uint8_t *chunk = NULL;
	int err = 0;

	if (blp->json)
		err = encode_meta(blp, &chunk, &meta.size, why);
	meta.content = chunk;
	if (!err)
		err = b2f_trailer_with_metas(&metas, out, size);
	free(chunk);
	return err;
}

int b2f_blp_frame_make(const struct b2f_blp *blp,
		       const struct b2f_chunk_header *first, uint8_t **out,
		       size_t *lead, size_t *size, struct b2f_why *why)
{
	static const struct b2f_meta_list none = {.n = 0};
	struct b2f_index_parts parts = {.header = header_of(blp, first),
					.entries = blp->offs,
					.nentries = blp->nchunks};
	uint8_t *header = NULL, *trailer = NULL;
	size_t header_len = 0, trailer_len = 0;
	int err;

	err = b2f_header_with_metas(&parts.header, &none, &header,
				    &header_len);
	if (!err)
		err = make_trailer(blp, &trailer, &trailer_len, why);
	if (!err) {
		parts.header.header_len = (uint32_t)header_len;
		parts.header_bytes = header;
		parts.trailer_bytes = trailer;
		parts.trailer_len = (uint32_t)trailer_len;
		*lead = header_len;
		err = b2f_index_write(&parts, out, size, why);
	}
	free(header);
	free(trailer);
	return err;
}
