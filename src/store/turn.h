/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.h - a reader's turn at the lock of C-Blosc2
 *
 * C-Blosc2 changes a frame in steps, which a reader must not see: it moves
 * chunks of a contiguous frame before it writes their new header.  So an index
 * is read under the shared lock of its lock file (lock.h).  After a read
 * without checksum the reader checks by the lock file whether another program
 * has had the lock since.  The check takes no lock, and keeps no writer
 * waiting.
 *
 * Layer: store.  May include: base/.  Threads: any.
 */
#ifndef B2F_STORE_TURN_H
#define B2F_STORE_TURN_H

#include "store/lock.h"

/* How long a reader waits for a writer with locks, milliseconds. */
#define B2F_TURN_WAIT_MS 3000

/* A value of @wait_ms: the caller has the lock for changes. */
#define B2F_TURN_OURS UINT32_MAX

/*
 * A value of @wait_ms: take no lock; the bytes may belong to a change under
 * way.
 */
#define B2F_TURN_NONE (UINT32_MAX - 1)

/*
 * Begins to read the index of @store: takes the shared lock, waiting at most
 * @wait_ms, and notes its state in store->generation.  *@out is NULL if there
 * is no lock file that this process can use.  Close it with b2f_lock_close()
 * after reading.
 *
 * Returns 0; -EAGAIN (another program has locked it), -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_turn_begin(struct b2f_store *store, uint32_t wait_ms,
		   struct b2f_lock **out, struct b2f_why *why);

/*
 * Like b2f_turn_begin(), but notes no state: until b2f_lock_close() no program
 * with locks changes the frame.
 */
B2F_MUST_CHECK
int b2f_turn_share(struct b2f_store *store, uint32_t wait_ms,
		   struct b2f_lock **out, struct b2f_why *why);

/*
 * Has another program had the lock for changes since b2f_turn_begin()?  Returns
 * 0 (no), -ESTALE, or -ENOENT (there is no lock file, or @store ignores locks).
 */
B2F_MUST_CHECK
int b2f_turn_check(struct b2f_store *store);

#endif
