/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_lock.h - other programs wait while a transaction writes
 *
 * Layer: frame.  Threads: any.
 */
#ifndef B2F_FRAME_TXN_LOCK_H
#define B2F_FRAME_TXN_LOCK_H

#include "frame/txn.h"

/*
 * Keeps out programs that use the locks of C-Blosc2, until b2f_txn_let_in().
 * May be nested, in any thread.  Returns 0, -EAGAIN (after @wait_ms), or an
 * errno of b2f_lock_acquire().
 */
B2F_MUST_CHECK
int b2f_txn_lock_out(struct b2f_txn *txn, uint32_t wait_ms,
		      struct b2f_why *why);
void b2f_txn_let_in(struct b2f_txn *txn);

/*
 * In a shared store, where none can be locked out: waits a little, by chance, before
 * another attempt to commit, which is the @try-th, so that one of several writers
 * comes through.
 */
void b2f_txn_give_way(const struct b2f_txn *txn, unsigned int try);

#endif
