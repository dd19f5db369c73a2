/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * single_space.h - free room in the file of a contiguous frame, and its use
 *
 * Layer: txn.  Threads: as txn.h.
 */
#ifndef B2F_TXN_SINGLE_SPACE_H
#define B2F_TXN_SINGLE_SPACE_H

#include "txn/txn.h"

/*
 * New ranges begin here or behind it: bytes before belong to the header, and to
 * the trailer of a frame without data.
 */
static inline uint64_t b2f_txn_head_room(const struct b2f_txn *txn)
{
	uint64_t size = (uint64_t)txn->header.header_len +
			txn->frame->trailer_len;

	return size > B2F_SECTOR ? size : B2F_SECTOR;
}

/* Should a file of @len bytes, @live of which are not dead, be shortened? */
bool b2f_txn_is_loose(uint64_t len, uint64_t live);

/*
 * Gives the free room between the chunks to the ranges, where it is certain:
 * before the first one, and behind those that have a seal.
 */
void b2f_txn_find_gaps(struct b2f_txn *txn);

/*
 * Gives back ranges that no index of the frame names any more: @dead, and the
 * first @nretired retired ones.  If that would take a byte from the frame, it
 * says so in the log, and does nothing.
 */
void b2f_txn_give_back(struct b2f_txn *txn, const struct b2f_ids *dead,
			size_t nretired);

/*
 * Copies chunk @nchunk, which is the same in the committed state and in @state,
 * to free room between the bytes @from and @until, and notes the new place in
 * @state.
 *
 * Returns 0, -ENOSPC (there is no such room), B2F_ECORRUPT, -ENOMEM or an errno
 * of the store; then @state is as it was.
 */
B2F_MUST_CHECK
int b2f_txn_move(struct b2f_txn *txn, uint64_t nchunk, uint64_t from,
		  uint64_t until, struct b2f_txn_state *state,
		  struct b2f_why *why);

/* Everywhere, even behind the last chunk. */
#define B2F_MOVE_ANYWHERE UINT64_MAX

#endif
