/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_count.h - what the chunks of a transaction take on disk
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_TXN_COUNT_H
#define B2F_FRAME_TXN_COUNT_H

#include "frame/txn.h"

/*
 * Stored bytes of the chunk @raw if that is known without reading; else false.
 */
bool b2f_txn_known_cbytes(const struct b2f_txn *txn, uint64_t raw,
			   uint32_t *cbytes);

/*
 * Returns the stored size of the chunk @raw of @store by its header; 0 if that
 * is unreadable.  Needs no lock.
 */
uint32_t b2f_txn_read_cbytes(struct b2f_store *store, uint64_t raw);

/* Returns the stored size of all chunks according to the index of @frame,
 * without the margin of this library. */
uint64_t b2f_txn_told_cbytes(const struct b2f_frame *frame);

/*
 * Adds up what the chunks of @state in @store take by their headers; false: some
 * are unreadable, and count as nothing.
 */
bool b2f_txn_sum(struct b2f_store *store, const struct b2f_txn_state *state,
		 uint64_t *out);

/*
 * Finds out what the chunks of @state, which is that of @frame, take: the index
 * tells more (b2f_index_margin()).  May read chunk files.
 */
void b2f_txn_count(const struct b2f_frame *frame, struct b2f_txn_state *state);

#endif
