/* SPDX-License-Identifier: BSD-3-Clause */
/* transcode.c - chunks of a frame, on their way into another one */
#include "frame/transcode.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "frame/frame_chunk.h"
#include "frame/frame_report.h"
#include "frame/frame_unit.h"

int b2f_transcode_decode(struct b2f_frame *frame,
			 const struct b2f_loaded *loaded,
			 struct b2f_decoder *dec, uint8_t *buf)
{
	const struct b2f_chunk *chunk = &loaded->chunk;
	int err = 0;

	for (uint32_t i = 0; i < chunk->nunits && !err; i++) {
		const struct b2f_unit_read read = {.frame = frame,
						   .loaded = loaded,
						   .dec = dec,
						   .ref = i ? buf : NULL,
						   .unit = i};

		err = b2f_frame_decode_unit(
			&read, buf + (size_t)i * chunk->unit_size);
	}
	return err;
}

/* The decoded data of @loaded, malloc'ed. */
static int decode(struct b2f_frame *frame, const struct b2f_loaded *loaded,
		  struct b2f_decoder *dec, uint8_t **out)
{
	uint32_t nbytes = loaded->chunk.header.nbytes;
	uint8_t *buf = malloc(nbytes ? nbytes : 1);
	int err;

	if (!buf)
		return -ENOMEM;
	err = b2f_transcode_decode(frame, loaded, dec, buf);
	if (err)
		free(buf);
	else
		*out = buf;
	return err;
}

int b2f_transcode_check(struct b2f_frame *frame,
			const struct b2f_loaded *loaded,
			struct b2f_decoder *dec)
{
	uint8_t *data = NULL;
	int err = decode(frame, loaded, dec, &data);

	free(data);
	return err;
}

static int load(struct b2f_frame *frame, uint64_t nchunk,
		struct b2f_loaded **out)
{
	struct b2f_frame_span span;
	int err = b2f_frame_span_get(frame, nchunk, &span);

	if (!err)
		err = b2f_frame_load(frame, nchunk, span.nbytes, B2F_LOAD_ALL,
				     out);
	return err;
}

/* The stored bytes of @loaded become those of @out; an entry stays one. */
static void take(struct b2f_loaded *loaded, struct b2f_build_chunk *out)
{
	out->nbytes = loaded->chunk.header.nbytes;
	out->raw = loaded->raw;
	if (b2f_entry_of(loaded->raw).special)
		return;
	out->bytes = loaded->bytes;
	out->cbytes = loaded->chunk.header.cbytes;
	loaded->bytes = NULL;
}

int b2f_transcode_copy(struct b2f_frame *frame, uint64_t nchunk,
		       struct b2f_decoder *dec, struct b2f_build_chunk *out)
{
	struct b2f_loaded *loaded = NULL;
	int err;

	err = load(frame, nchunk, &loaded);
	if (err)
		return err;
	if (dec && loaded->chunk.layout != B2F_CHUNK_SPECIAL)
		err = b2f_transcode_check(frame, loaded, dec);
	*out = (struct b2f_build_chunk){0};
	if (!err)
		take(loaded, out);
	b2f_loaded_free(loaded);
	return err;
}

/* Zeros, where an entry will not do. */
static int encode_zeros(const struct b2f_transcode *how, uint32_t nbytes,
			struct b2f_build_chunk *out, struct b2f_why *why)
{
	return b2f_chunk_encode_value(&how->options, nbytes,
				      b2f_bytes_at(NULL, 0), out->bytes,
				      &out->cbytes, why);
}

int b2f_transcode_data(const struct b2f_transcode *how, struct b2f_encoder *enc,
		       const uint8_t *data, uint32_t nbytes,
		       struct b2f_build_chunk *out, struct b2f_why *why)
{
	size_t room = b2f_chunk_encode_bound(nbytes);
	struct b2f_build_chunk chunk = {.nbytes = nbytes};
	struct b2f_encoded encoded = {0};
	int err;

	chunk.bytes = malloc(room);
	if (!chunk.bytes)
		return -ENOMEM;
	err = b2f_chunk_encode(enc, &how->options, b2f_bytes_at(data, nbytes),
			       b2f_room_at(chunk.bytes, room), &encoded, why);
	chunk.cbytes = encoded.cbytes;
	if (!err && encoded.zeros) {
		if (how->special && nbytes % how->options.typesize == 0) {
			free(chunk.bytes);
			chunk.bytes = NULL;
			chunk.raw = b2f_entry_raw(B2F_SPECIAL_ZEROS);
		} else {
			err = encode_zeros(how, nbytes, &chunk, why);
		}
	}
	if (err)
		free(chunk.bytes);
	else
		*out = chunk;
	return err;
}

/* May @loaded stay as it is?  It has no data that could be encoded. */
static bool may_stay(const struct b2f_transcode *how,
		     const struct b2f_loaded *loaded)
{
	if (b2f_entry_of(loaded->raw).special)
		return how->special && how->same_items;
	return loaded->chunk.header.special == B2F_SPECIAL_VALUE;
}

static int encode(const struct b2f_transcode *how, struct b2f_frame *frame,
		  struct b2f_loaded *loaded, struct b2f_decoder *dec,
		  struct b2f_encoder *enc, struct b2f_build_chunk *out)
{
	struct b2f_why why = {""};
	uint8_t *data = NULL;
	int err;

	if (loaded->chunk.header.vl) {
		b2f_why_set(&why, B2F_EUNSUPPORTED,
			    "its blocks have lengths of their own, which "
			    "would be lost");
		return b2f_frame_report_chunk(frame, loaded->nchunk, -1,
					      B2F_EUNSUPPORTED, &why);
	}
	if (may_stay(how, loaded)) {
		take(loaded, out);
		return 0;
	}
	err = decode(frame, loaded, dec, &data);
	if (err)
		return err;
	err = b2f_transcode_data(how, enc, data, loaded->chunk.header.nbytes,
				 out, &why);
	free(data);
	if (err)
		b2f_frame_report_chunk(frame, loaded->nchunk, -1, err, &why);
	return err;
}

int b2f_transcode_chunk(const struct b2f_transcode *how,
			struct b2f_frame *frame, uint64_t nchunk,
			struct b2f_decoder *dec, struct b2f_encoder *enc,
			struct b2f_build_chunk *out)
{
	struct b2f_loaded *loaded = NULL;
	int err;

	*out = (struct b2f_build_chunk){0};
	err = load(frame, nchunk, &loaded);
	if (!err)
		err = encode(how, frame, loaded, dec, enc, out);
	b2f_loaded_free(loaded);
	return err;
}
