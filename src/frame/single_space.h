/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * single_space.h - what is free in the file of a contiguous frame, and who gets it
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_SINGLE_SPACE_H
#define B2F_FRAME_SINGLE_SPACE_H

#include "frame/txn.h"

/*
 * New ranges begin here or behind it: what is before belongs to the header, and
 * to the trailer of a frame without data.
 */
static inline uint64_t b2f_txn_head_room(const struct b2f_txn *txn)
{
	uint64_t size = (uint64_t)txn->header.header_len +
			txn->frame->trailer_len;

	return size > B2F_SECTOR ? size : B2F_SECTOR;
}

/*
 * Is so much of a file of @len bytes dead, where @live are not, that it is to be
 * shorter?
 */
bool b2f_txn_is_loose(uint64_t len, uint64_t live);

/*
 * Gives the ranges what is free between the chunks, as far as that is sure:
 * before the first one, and behind those that have a seal.
 */
void b2f_txn_find_gaps(struct b2f_txn *txn);

/*
 * Gives back what no index of the frame names any more: the ranges @dead, and the
 * first @nretired of those that have retired.  If that would take a byte from the
 * frame, it says so in the log, and does nothing.
 */
void b2f_txn_give_back(struct b2f_txn *txn, const struct b2f_ids *dead,
			size_t nretired);

/*
 * Copies chunk @nchunk of the committed state, which is that of @state, to room
 * that nothing uses between the bytes @from and @until, where @state then has it.
 *
 * Returns 0, -ENOSPC (there is no such room), B2F_ECORRUPT, -ENOMEM or an errno
 * of the store; then @state is as it was.
 */
B2F_MUST_CHECK
int b2f_txn_move(struct b2f_txn *txn, uint64_t nchunk, uint64_t from,
		  uint64_t until, struct b2f_txn_state *state,
		  struct b2f_why *why);

/* Everywhere, also behind the end of all. */
#define B2F_MOVE_ANYWHERE UINT64_MAX

#endif
