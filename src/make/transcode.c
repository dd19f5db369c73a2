/* SPDX-License-Identifier: BSD-3-Clause */
/* transcode.c - chunks of a frame, on their way into another one */
#include "make/transcode.h"

#include <stdlib.h>

#include "base/checked.h"
#include "frame/frame_chunk.h"
#include "frame/frame_report.h"
#include "frame/frame_unit.h"

int b2f_transcode_open(struct b2f_runtime *runtime, struct b2f_frame *frame,
		       struct b2f_file **out)
{
	int err = b2f_file_open(runtime, b2f_frame_ref(frame), out);

	if (err)
		b2f_frame_close(frame);
	else
		b2f_file_stay(*out);
	return err;
}

int b2f_transcode_read(struct b2f_file *file, void *buf, uint64_t n,
		       uint64_t off)
{
	ssize_t got = b2f_file_pread(file, NULL, buf, (size_t)n, off);

	if (got < 0)
		return (int)got;
	return (uint64_t)got == n ? 0 : B2F_ECORRUPT;
}

int b2f_transcode_load(struct b2f_frame *frame, uint64_t nchunk,
		       struct b2f_loaded **out)
{
	struct b2f_frame_span span;
	int err = b2f_frame_span_get(frame, nchunk, &span);

	if (!err)
		err = b2f_frame_load(frame, nchunk, span.nbytes, B2F_LOAD_ALL,
				     out);
	return err;
}

void b2f_transcode_take(struct b2f_loaded *loaded, struct b2f_piece *out)
{
	out->nbytes = loaded->chunk.header.nbytes;
	out->raw = loaded->raw;
	if (b2f_entry_of(loaded->raw).special)
		return;
	out->bytes = loaded->bytes;
	out->cbytes = loaded->chunk.header.cbytes;
	loaded->bytes = NULL;
}

/* Checks all stored bytes: a new seal must not stand behind damaged ones. */
static int check_seal(const struct b2f_frame *frame,
		      const struct b2f_loaded *l)
{
	struct b2f_why why = {""};
	int err = b2f_seal_check_all(&l->seal, &l->chunk, l->bytes, &why);

	return err ? b2f_frame_report_chunk(frame, l->nchunk, err, &why) : 0;
}

int b2f_transcode_entry(struct b2f_frame *frame, uint64_t raw,
			struct b2f_decoder *dec, struct b2f_piece *piece)
{
	struct b2f_loaded *loaded = NULL;
	int err = b2f_frame_load_sound(frame, piece->nchunk, raw, piece->nbytes,
				       dec, &loaded);

	/* Decoding has checked it. */
	if (!err && !dec)
		err = check_seal(frame, loaded);
	if (!err)
		b2f_transcode_take(loaded, piece);
	b2f_loaded_free(loaded);
	return err;
}

int b2f_transcode_zeros(const struct b2f_transcode *how, uint32_t nbytes,
			struct b2f_piece *piece, struct b2f_why *why)
{
	piece->nbytes = nbytes;
	if (how->special && nbytes % how->options.typesize == 0) {
		piece->raw = b2f_entry_raw(B2F_SPECIAL_ZEROS);
		return 0;
	}
	piece->bytes = malloc(b2f_chunk_encode_bound(nbytes));
	if (!piece->bytes)
		return -ENOMEM;
	return b2f_chunk_encode_value(&how->options, nbytes,
				      b2f_bytes_at(NULL, 0), piece->bytes,
				      &piece->cbytes, why);
}

int b2f_transcode_data(const struct b2f_transcode *how, struct b2f_encoder *enc,
		       const uint8_t *data, uint32_t nbytes,
		       struct b2f_piece *piece, struct b2f_why *why)
{
	size_t room = b2f_chunk_encode_bound(nbytes);
	struct b2f_encoded encoded = {0};
	uint8_t *bytes = malloc(room), *less;
	int err = -ENOMEM;

	if (bytes)
		err = b2f_chunk_encode(enc, &how->options,
				       b2f_bytes_at(data, nbytes),
				       b2f_room_at(bytes, room), &encoded, why);
	if (err || encoded.zeros) {
		free(bytes);
		return err ? err : b2f_transcode_zeros(how, nbytes, piece, why);
	}
	/* It may have to wait in the pump: keep only the room it needs. */
	less = realloc(bytes, encoded.cbytes);
	piece->nbytes = nbytes;
	piece->cbytes = encoded.cbytes;
	piece->bytes = less ? less : bytes;
	return 0;
}
