/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_count.c - what chunks take on disk */
#include "frame/txn_count.h"

#include "base/checked.h"
#include "frame/txn_priv.h"
#include "index/fingerprint.h"

/* Chunk files that are looked at to estimate their size together. */
#define COUNT_MAX 256

bool b2f_txn_known_cbytes(const struct b2f_txn *txn, uint64_t raw,
			   uint32_t *cbytes)
{
	const struct b2f_new_chunk *chunk;

	if (!b2f_txn_is_stored(raw)) {
		*cbytes = 0;
		return true;
	}
	chunk = b2f_txn_find(txn, raw);
	if (chunk)
		*cbytes = chunk->cbytes;
	return chunk != NULL;
}

uint32_t b2f_txn_read_cbytes(struct b2f_store *store, uint64_t raw)
{
	uint8_t buf[B2F_CHUNK_HEADER_MAX];
	struct b2f_object object = {.fd = -1};
	struct b2f_chunk_header h;
	uint32_t cbytes = 0;

	if (b2f_object_open(store, b2f_txn_id(raw), &object, NULL))
		return 0;
	if (object.size >= sizeof(buf) &&
	    !b2f_object_read(&object, 0, buf, sizeof(buf), NULL) &&
	    !b2f_chunk_header_parse(buf, sizeof(buf), &h, NULL))
		cbytes = h.cbytes;
	b2f_object_close(&object);
	return cbytes;
}

static uint64_t count_stored(const struct b2f_txn_state *state)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < state->n; i++)
		n += b2f_txn_is_stored(b2f_txn_raw(state, i));
	return n;
}

/* The index has been written with the margin, and by no other program since. */
static bool has_margin(const struct b2f_frame *frame)
{
	return frame->sealed && frame->header.sparse &&
	       frame->info.fingerprint_type == B2F_FINGERPRINT_TYPE;
}

uint64_t b2f_txn_told_cbytes(const struct b2f_frame *frame)
{
	const struct b2f_entries *e = &frame->entries;
	uint64_t told = frame->header.cbytes, margin;

	if (!has_margin(frame))
		return told;
	margin = b2f_index_margin(e->raw ? e->raw : &e->same,
				  e->raw ? e->n : b2f_min_u64(e->n, 1));
	return told - b2f_min_u64(told, margin);
}

bool b2f_txn_sum(struct b2f_store *store, const struct b2f_txn_state *state,
		 uint64_t *out)
{
	bool all = true;

	*out = 0;
	for (uint64_t i = 0; i < state->n; i++) {
		uint32_t cbytes;

		if (!b2f_txn_is_stored(b2f_txn_raw(state, i)))
			continue;
		cbytes = b2f_txn_read_cbytes(store, b2f_txn_raw(state, i));
		all &= cbytes != 0;
		*out += cbytes;
	}
	return all;
}

void b2f_txn_count(const struct b2f_frame *frame, struct b2f_txn_state *state)
{
	uint64_t sum;

	state->cbytes = b2f_txn_told_cbytes(frame);
	if (has_margin(frame))
		return;
	/*
	 * An index that C-Blosc2 has made of ours still tells more than the
	 * chunks take, but not how much.  To count the margin as stored is
	 * safe, but it would grow with each such change.
	 */
	if (count_stored(state) <= COUNT_MAX &&
	    b2f_txn_sum(frame->store, state, &sum))
		state->cbytes = sum;
}
