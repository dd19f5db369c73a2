/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_compact.h - a contiguous frame with much that is dead becomes shorter
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_TXN_COMPACT_H
#define B2F_FRAME_TXN_COMPACT_H

#include "frame/txn.h"

/* The readers of the frame. */
struct b2f_txn_readers {
	/* Held while the states of the transaction are exchanged. */
	pthread_mutex_t *lock;
	/* Waits until those have ended that have begun before. */
	void (*wait)(void *arg);
	void *arg;
};

/*
 * If much of the file is dead (b2f_txn_is_loose()), gives back what no index names, and moves
 * chunks to room that is free before them, so that the frame ends earlier; the file is
 * not cut.  For a transaction that has nothing to commit, with other programs locked
 * out, or not about to write yet.  NULL: there are no readers.
 *
 * Returns 0, also if nothing had to be done; -EIO or another errno of a sync:
 * then the frame before may come back, so the file must not be cut.
 */
B2F_MUST_CHECK
int b2f_txn_compact(struct b2f_txn *txn,
		    const struct b2f_txn_readers *readers);

#endif
