/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_move.h - a chunk of a contiguous frame gets another place in its file
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_TXN_MOVE_H
#define B2F_FRAME_TXN_MOVE_H

#include "frame/txn.h"

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
