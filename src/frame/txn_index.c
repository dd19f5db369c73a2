/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_index.c - the bytes of the index that a commit writes */
#include "frame/txn_index.h"

#include "frame/txn_commit.h"
#include "index/tags.h"

uint32_t b2f_txn_len_draw(const struct b2f_txn *txn)
{
	bool is_theirs = !txn->frame->sealed &&
			 txn->header.frame_len == txn->frame->header.frame_len;

	return is_theirs ? b2f_tag_draw() : 0;
}

bool b2f_txn_may_seal(const struct b2f_txn *txn,
		      const struct b2f_txn_state *state)
{
	uint64_t last = state->n ? b2f_txn_raw(state, state->n - 1) : 0;

	return b2f_frame_may_seal(txn->frame, &last, state->n ? 1 : 0);
}

int b2f_txn_make_index(struct b2f_txn *txn, const struct b2f_commit *commit,
			b2f_txn_place_fn *place, uint8_t **out, size_t *size,
			struct b2f_why *why)
{
	const struct b2f_txn_state *state = &commit->state;
	struct b2f_index_parts parts = {
		.header = txn->header,
		.header_bytes = txn->frame->header_bytes,
		.pages = &state->pages,
		.nentries = state->n,
		.place = place,
		.place_arg = txn,
		.len_before = txn->header.frame_len,
		.len_draw = b2f_txn_len_draw(txn),
		.trailer_bytes = txn->frame->trailer_bytes,
		.trailer_len = txn->frame->trailer_len,
		/* A contiguous frame's waits for the place of the index. */
		.sealed = !place && b2f_txn_may_seal(txn, state),
	};

	parts.header.nbytes = state->nbytes;
	parts.header.cbytes = state->cbytes;
	return b2f_index_write(&parts, out, size, why);
}
