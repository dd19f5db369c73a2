/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_single.h - a state of a transaction becomes a contiguous frame on disk
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_TXN_SINGLE_H
#define B2F_FRAME_TXN_SINGLE_H

#include "frame/txn.h"
#include "frame/txn_commit.h"
#include "frame/txn_compact.h"

/* Like b2f_txn_write(), but logs nothing. */
B2F_MUST_CHECK
int b2f_txn_single_write(struct b2f_txn *txn, struct b2f_commit *commit,
			  struct b2f_why *why);

/*
 * The same without waiting for other programs, which are locked out, of a state
 * that the room behind the header allows.
 */
B2F_MUST_CHECK
int b2f_txn_single_put(struct b2f_txn *txn, struct b2f_commit *commit,
			struct b2f_why *why);

/*
 * txn_end.c: may the end of @txn still write to the file?  False if other
 * programs believe that the file is closed, and no lock keeps them out.
 */
bool b2f_txn_single_may_end(const struct b2f_txn *txn);

/*
 * Gives back what nothing needs any more, and ends the file where the frame ends,
 * unless it may not, or another program has written to it.
 */
void b2f_txn_single_end(struct b2f_txn *txn);

/*
 * The second half of it, for a transaction that goes on, and has nothing to
 * commit.  Chunks are moved only if @readers are told.
 */
void b2f_txn_single_cut(struct b2f_txn *txn,
			const struct b2f_txn_readers *readers);

#endif
