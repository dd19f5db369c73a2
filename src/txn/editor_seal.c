/* SPDX-License-Identifier: BSD-3-Clause */
/* editor_seal.c - replaces chunks by chunks of the same length */
#include <string.h>

#include "txn/chunk_write.h"
#include "txn/txn.h"
#include "frame/settings.h"
#include "txn/editor_priv.h"
#include "index/fingerprint.h"
#include "frame/frame_chunk.h"
#include "frame/frame_report.h"
#include "frame/frame_unit.h"

bool b2f_editor_index_is_sealed(const struct b2f_editor *editor)
{
	const struct b2f_frame *frame = editor->cw.txn->frame;

	return frame->sealed && b2f_fingerprint_covers_meta(frame->header_bytes);
}

void b2f_editor_count(struct b2f_editor *editor, bool *done)
{
	struct b2f_txn *txn = editor->cw.txn;
	uint64_t sum;

	(void)b2f_txn_sum(txn->store, &txn->working, &sum);
	*done = txn->header.sparse && sum > b2f_txn_told_cbytes(txn->frame);
	if (*done)
		txn->working.cbytes = sum;
}

/* Finds the decoded size of chunk @nchunk, in any kind of frame. */
static int find_nbytes(const struct b2f_editor *editor, uint64_t nchunk,
		       uint32_t *out)
{
	struct b2f_txn *txn = editor->cw.txn;
	struct b2f_frame_span span;
	int err;

	if (nchunk >= txn->working.n)
		return b2f_editor_refuse(editor, -EINVAL,
					 "there is no such chunk");
	if (!editor->any_kind) {
		*out = b2f_txn_chunk_nbytes(txn, &txn->working, nchunk);
		return 0;
	}
	/* No chunk was moved: the opened frame knows the size. */
	err = b2f_frame_span_get(txn->frame, nchunk, &span);
	if (!err)
		*out = (uint32_t)span.nbytes;
	return err;
}

/* Writes the encoded chunk at @bytes, and puts it in the place of @nchunk. */
static int put_encoded(struct b2f_editor *editor, uint64_t nchunk,
		       const uint8_t *bytes, uint32_t cbytes)
{
	struct b2f_txn_chunk chunk;
	int err = b2f_chunk_write_encoded(&editor->cw, nchunk, bytes, cbytes,
					  &chunk);

	if (err)
		return err;
	return b2f_editor_put(editor, nchunk, &chunk);
}

/*
 * Gives the sound chunk of @loaded a seal that its entry names.  If it has one
 * that only an index of C-Blosc2 does not name, just the entry changes.
 */
static int seal_loaded(struct b2f_editor *editor, uint64_t nchunk,
		       const struct b2f_loaded *loaded)
{
	struct b2f_txn_state *state = &editor->cw.txn->working;
	uint64_t raw = b2f_txn_raw(state, nchunk);

	if (!loaded->seal.tag)
		return put_encoded(editor, nchunk, loaded->bytes,
				   loaded->chunk.header.cbytes);
	return b2f_txn_set_raw(state, nchunk,
			       (uint32_t)raw |
				       (uint64_t)loaded->seal.tag << 32);
}

int b2f_editor_seal(struct b2f_editor *editor, uint64_t nchunk, bool *done)
{
	struct b2f_txn *txn = editor->cw.txn;
	struct b2f_loaded *loaded = NULL;
	struct b2f_decoder *dec = NULL;
	uint32_t nbytes = 0;
	uint64_t raw;
	int err = find_nbytes(editor, nchunk, &nbytes);

	if (err)
		return err;
	if (b2f_frame_hides_short_chunk(txn->frame))
		return b2f_editor_refuse(editor, -EINVAL,
					 "its short chunk is not the last one; "
					 "bloscctl recompress gives it chunks "
					 "of one size");
	*done = false;
	raw = b2f_txn_raw(&txn->working, nchunk);
	if (!b2f_txn_is_stored(raw) || b2f_entry_tag(raw))
		return 0;
	err = b2f_decoder_new(&dec);
	if (!err)
		err = b2f_frame_load_sound(txn->frame, nchunk, raw, nbytes,
					   dec, &loaded);
	if (!err)
		err = seal_loaded(editor, nchunk, loaded);
	*done = !err;
	b2f_decoder_free(dec);
	b2f_loaded_free(loaded);
	return err;
}

/* Stores zeros as a chunk, because an entry would not give their number. */
static int put_zeros(struct b2f_editor *editor, uint64_t nchunk,
		     uint32_t nbytes)
{
	struct b2f_encode_options options;
	struct b2f_why why = {""};
	uint32_t cbytes = 0;
	B2F_OWN uint8_t *room = NULL;
	int err;

	b2f_encode_options_of(editor->cw.txn->frame, &editor->cw.txn->header, &options);
	room = malloc(b2f_chunk_encode_bound(nbytes));
	if (!room)
		return -ENOMEM;
	err = b2f_chunk_encode_value(&options, nbytes, b2f_bytes_at(NULL, 0),
				     room, &cbytes, &why);
	if (err)
		b2f_frame_report_chunk(editor->cw.txn->frame, nchunk, err,
				       &why);
	else
		err = put_encoded(editor, nchunk, room, cbytes);
	return err;
}

int b2f_editor_zero(struct b2f_editor *editor, uint64_t nchunk)
{
	const struct b2f_txn_chunk zeros = {
		.raw = b2f_entry_raw(B2F_SPECIAL_ZEROS)};
	struct b2f_txn *txn = editor->cw.txn;
	uint32_t nbytes = 0;
	int err;

	if (txn->header.version > 2 && txn->header.general_flags & 0x80)
		return b2f_editor_refuse(editor, B2F_EUNSUPPORTED,
					 "its chunks have blocks of different "
					 "lengths, which zeros cannot have");
	err = find_nbytes(editor, nchunk, &nbytes);
	if (err)
		return err;
	if (txn->header.chunksize == 0 || nbytes % txn->header.typesize)
		return put_zeros(editor, nchunk, nbytes);
	return b2f_editor_put(editor, nchunk, &zeros);
}
