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

/*
 * Makes the bytes of the index of @commit; of a contiguous frame
 * with the chunks at @places behind the header, else NULL.  Returns as
 * b2f_index_write().
 */
B2F_MUST_CHECK
int b2f_txn_make_index(struct b2f_txn *txn, const struct b2f_commit *commit,
			const uint64_t *places, uint8_t **out, size_t *size,
			struct b2f_why *why);

#endif
