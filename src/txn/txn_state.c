/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_state.c - all chunks of a frame at one moment: their places in the data,
 * and their stored sizes
 */
#include "txn/txn_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/sorted.h"
#include "index/fingerprint.h"
#include "index/index_write.h"

void b2f_txn_state_fini(struct b2f_txn_state *state)
{
	b2f_pages_fini(&state->pages);
	free(state->starts);
	*state = (struct b2f_txn_state){0};
}

int b2f_txn_set_raw(struct b2f_txn_state *state, uint64_t i, uint64_t raw)
{
	int err = b2f_pages_own(&state->pages, i, 1);

	if (!err)
		b2f_pages_set(&state->pages, i, raw);
	return err;
}

bool b2f_txn_state_equal(const struct b2f_txn_state *a,
			  const struct b2f_txn_state *b)
{
	return a->nbytes == b->nbytes && a->n == b->n &&
	       b2f_pages_equal(&a->pages, &b->pages, a->n);
}

int b2f_txn_state_copy(const struct b2f_txn_state *from,
			struct b2f_txn_state *to)
{
	struct b2f_txn_state copy = *from;

	copy.pages = (struct b2f_pages){0};
	if (from->starts) {
		copy.cap = from->n;
		copy.starts = malloc((copy.cap + 1) * sizeof(*copy.starts));
		if (!copy.starts)
			return -ENOMEM;
		memcpy(copy.starts, from->starts,
		       (from->n + 1) * sizeof(*copy.starts));
	}
	if (b2f_pages_copy(&from->pages, &copy.pages)) {
		free(copy.starts);
		return -ENOMEM;
	}
	*to = copy;
	return 0;
}

static int reserve_starts(struct b2f_txn_state *state, uint64_t n)
{
	uint64_t cap = state->cap;
	uint64_t *starts;

	while (cap < n)
		cap = cap + cap / 2 + 1;
	if (!state->starts || cap == state->cap)
		return 0;
	starts = realloc(state->starts, (cap + 1) * sizeof(*starts));
	if (!starts)
		return -ENOMEM;
	state->starts = starts;
	state->cap = cap;
	return 0;
}

int b2f_txn_state_reserve(struct b2f_txn_state *state, uint64_t n)
{
	int err = b2f_pages_reserve(&state->pages, b2f_max_u64(n, 1));

	if (!err)
		err = reserve_starts(state, n);
	if (!err && n > state->n)
		err = b2f_pages_own(&state->pages, state->n, n - state->n);
	return err;
}

int b2f_txn_state_of(const struct b2f_frame *frame, struct b2f_txn_state *out)
{
	const struct b2f_entries *entries = &frame->entries;
	struct b2f_txn_state state = {.nbytes = frame->header.nbytes,
				       .cbytes = frame->header.cbytes};
	int err = b2f_txn_state_reserve(&state, entries->n);

	if (err) {
		b2f_txn_state_fini(&state);
		return err;
	}
	for (uint64_t i = 0; i < entries->n; i++)
		b2f_pages_set(&state.pages, i, b2f_entries_raw(entries, i));
	state.n = entries->n;
	*out = state;
	return 0;
}

/* Decoded size of a new chunk at the end. */
static uint32_t step_of(const struct b2f_txn *txn)
{
	return txn->header.chunksize ? (uint32_t)txn->header.chunksize
				      : txn->sizes.step;
}

bool b2f_txn_find_bad(const struct b2f_txn *txn,
		      const struct b2f_txn_state *state, bool all,
		      uint64_t *nchunk)
{
	for (uint64_t i = *nchunk; i < state->n && (all || txn->fresh.nbad);
	     i++) {
		const struct b2f_new_chunk *chunk;

		if (!b2f_txn_is_stored(b2f_txn_raw(state, i)))
			continue;
		chunk = b2f_txn_find(txn, b2f_txn_raw(state, i));
		if (chunk ? chunk->bad || (all && chunk->committed) : all) {
			*nchunk = i;
			return true;
		}
	}
	return false;
}

uint64_t b2f_txn_chunk_start(const struct b2f_txn *txn,
			      const struct b2f_txn_state *state,
			      uint64_t nchunk)
{
	if (state->starts)
		return state->starts[nchunk];
	return b2f_min_u64(nchunk * (uint32_t)txn->header.chunksize,
			   state->nbytes);
}

uint32_t b2f_txn_chunk_nbytes(const struct b2f_txn *txn,
			       const struct b2f_txn_state *state,
			       uint64_t nchunk)
{
	if (nchunk >= state->n)
		return 0;
	return (uint32_t)(b2f_txn_chunk_start(txn, state, nchunk + 1) -
			  b2f_txn_chunk_start(txn, state, nchunk));
}

struct b2f_frame_span b2f_txn_locate(const struct b2f_txn *txn, uint64_t off)
{
	const struct b2f_txn_state *state = &txn->working;
	struct b2f_frame_span span;

	span.nchunk = state->starts
			      ? b2f_search_u64(state->starts, state->n, off)
			      : off / (uint32_t)txn->header.chunksize;
	span.start = b2f_txn_chunk_start(txn, state, span.nchunk);
	span.nbytes = b2f_txn_chunk_nbytes(txn, state, span.nchunk);
	return span;
}

uint32_t b2f_txn_chunk_room(const struct b2f_txn *txn, uint64_t nchunk)
{
	const struct b2f_txn_state *state = &txn->working;

	uint32_t nbytes = b2f_txn_chunk_nbytes(txn, state, nchunk);

	if (state->starts && nchunk < txn->sizes.nkept)
		return nbytes;
	return (uint32_t)b2f_max_u64(nbytes, step_of(txn));
}

/* The first chunk whose size changes if the working state grows. */
static uint64_t first_to_grow(const struct b2f_txn *txn)
{
	uint64_t n = txn->working.n;

	return n && b2f_txn_chunk_room(txn, n - 1) >
			    b2f_txn_chunk_nbytes(txn, &txn->working, n - 1)
		       ? n - 1
		       : n;
}

uint64_t b2f_txn_count_chunks(const struct b2f_txn *txn, uint64_t nbytes)
{
	const struct b2f_txn_state *state = &txn->working;
	uint64_t n;

	if (!state->starts)
		return b2f_div_up_u64(nbytes, step_of(txn));
	if (nbytes == 0)
		return 0;
	if (nbytes <= state->nbytes)
		return b2f_search_u64(state->starts, state->n, nbytes - 1) + 1;
	n = first_to_grow(txn);
	return n + b2f_div_up_u64(nbytes - state->starts[n], step_of(txn));
}

void b2f_txn_lay_out(struct b2f_txn *txn, uint64_t n, uint64_t nbytes)
{
	struct b2f_txn_state *state = &txn->working;

	if (state->starts && nbytes > state->nbytes)
		for (uint64_t i = first_to_grow(txn); i < n; i++)
			state->starts[i + 1] =
				b2f_min_u64(state->starts[i] + step_of(txn),
					    nbytes);
	else if (state->starts)
		state->starts[n] = nbytes;
	state->n = n;
	state->nbytes = nbytes;
	txn->sizes.nkept = b2f_min_u64(txn->sizes.nkept, n);
}

int b2f_txn_make_starts(struct b2f_frame *frame, struct b2f_txn_state *state)
{
	uint64_t *starts = malloc((state->n + 1) * sizeof(*starts));
	struct b2f_frame_span span;
	int err = starts ? 0 : -ENOMEM;

	for (uint64_t i = 0; i < state->n && !err; i++) {
		err = b2f_frame_span_get(frame, i, &span);
		if (!err)
			starts[i] = span.start;
	}
	if (err) {
		free(starts);
		return err;
	}
	starts[state->n] = state->nbytes;
	state->starts = starts;
	state->cap = state->n;
	return 0;
}

int b2f_txn_state_like(const struct b2f_txn *txn, struct b2f_frame *theirs,
			struct b2f_txn_state *out)
{
	int err = b2f_txn_state_of(theirs, out);

	if (err || !txn->committed.starts)
		return err;
	err = b2f_txn_make_starts(theirs, out);
	if (err)
		b2f_txn_state_fini(out);
	return err;
}

/* Up to this many chunk files are read to sum up their sizes. */
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

/* Does the index have the margin, because no other program wrote it? */
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
	 * An index that C-Blosc2 has made of ours still has a margin, of
	 * unknown size.  To count the margin as stored is safe, but it would
	 * grow with each such change.
	 */
	if (count_stored(state) <= COUNT_MAX &&
	    b2f_txn_sum(frame->store, state, &sum))
		state->cbytes = sum;
}
