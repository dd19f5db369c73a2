/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_index.h - the bytes of the index that a commit writes
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_TXN_INDEX_H
#define B2F_FRAME_TXN_INDEX_H

#include "frame/txn.h"
#include "frame/txn_commit.h"

/*
 * Returns the number by which the length of the next index goes beyond that of
 * the last one: 0 if that was ours, otherwise a random number, because readers
 * without locks may still have an older index of ours.
 */
uint32_t b2f_txn_len_draw(const struct b2f_txn *txn);

/* As place of struct b2f_index_parts, with the transaction for its argument. */
typedef uint64_t b2f_txn_place_fn(const void *txn, uint64_t i, uint64_t raw);

/* b2f_frame_may_seal() of an index of @state. */
bool b2f_txn_may_seal(const struct b2f_txn *txn,
		      const struct b2f_txn_state *state);

/*
 * Makes the bytes of the index of @commit; of a contiguous frame
 * @place tells where the chunks are (index/index_write.h), else it is NULL.
 * Returns as b2f_index_write().
 */
B2F_MUST_CHECK
int b2f_txn_make_index(struct b2f_txn *txn, const struct b2f_commit *commit,
			b2f_txn_place_fn *place, uint8_t **out, size_t *size,
			struct b2f_why *why);

#endif
