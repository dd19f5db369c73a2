/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_state.h - all chunks of a frame at one moment
 *
 * Layer: frame.  Threads: one at a time per state.
 */
#ifndef B2F_FRAME_TXN_STATE_H
#define B2F_FRAME_TXN_STATE_H

#include "frame/frame.h"
#include "index/entry_pages.h"

/* All chunks of a frame at one moment. */
struct b2f_txn_state {
	/* One entry per chunk; b2f_txn_raw() tells one. */
	struct b2f_pages pages;
	uint64_t n;
	/*
	 * The start of each chunk and the end of the last one, if the chunks
	 * have different sizes, malloc'ed, with room for @cap + 1; otherwise
	 * NULL.
	 */
	uint64_t *starts;
	uint64_t cap;
	/* Decoded bytes. */
	uint64_t nbytes;
	/* Stored bytes of the chunks that have a file; see b2f_txn_count(). */
	uint64_t cbytes;
};

/* The raw entry of chunk @i (< n). */
static inline uint64_t b2f_txn_raw(const struct b2f_txn_state *state,
				   uint64_t i)
{
	return b2f_pages_get(&state->pages, i);
}

/* Sets entry @i (< n).  Returns 0 or -ENOMEM: then nothing has changed. */
B2F_MUST_CHECK
int b2f_txn_set_raw(struct b2f_txn_state *state, uint64_t i, uint64_t raw);

/*
 * The state that @frame tells, without starts.  Free it with
 * b2f_txn_state_fini().
 */
B2F_MUST_CHECK
int b2f_txn_state_of(const struct b2f_frame *frame,
		      struct b2f_txn_state *out);

void b2f_txn_state_fini(struct b2f_txn_state *state);

/* The same chunks, of as many bytes. */
bool b2f_txn_state_equal(const struct b2f_txn_state *a,
			  const struct b2f_txn_state *b);

/*
 * Copies @from to @to, which is empty, and shares its entries until one of both
 * changes them.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_txn_state_copy(const struct b2f_txn_state *from,
			struct b2f_txn_state *to);

/*
 * Room for @n entries, some more as files grow; those from entry n of @state on
 * can be set by b2f_pages_set().  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_txn_state_reserve(struct b2f_txn_state *state, uint64_t n);

#endif
