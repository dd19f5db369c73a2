/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_compact.h - a contiguous frame that is mostly dead becomes shorter
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_TXN_COMPACT_H
#define B2F_FRAME_TXN_COMPACT_H

#include "frame/txn.h"

/*
 * If more of the file is dead than is not, moves chunks to room that is free
 * before them, so that the frame of the next writer ends earlier: for
 * filesystems that take no holes, and for dead room that is too small for
 * holes.  Whatever the frame before needs stays.  At the end of a transaction
 * that is durable and has nothing to commit, with other programs locked out.
 *
 * Returns 0, also if nothing had to be done; -EIO or another errno of a sync:
 * then the frame before may come back, so the file must not be cut.
 */
B2F_MUST_CHECK
int b2f_txn_compact(struct b2f_txn *txn);

#endif
