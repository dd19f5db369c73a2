/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_chunks.c - which of the data each chunk of a transaction has */
#include "frame/txn_chunks.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/sorted.h"

/* Decoded bytes of the chunks that come behind all others. */
static uint32_t step_of(const struct b2f_txn *txn)
{
	return txn->header.chunksize ? (uint32_t)txn->header.chunksize
				      : txn->step;
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

	if (state->starts && nchunk < txn->nkept)
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
	txn->nkept = b2f_min_u64(txn->nkept, n);
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
