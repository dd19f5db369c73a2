/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.h - a reader's turn at the lock of C-Blosc2
 *
 * C-Blosc2 changes a frame in steps, of which a reader must see none: it moves
 * chunks of a contiguous frame before it writes the header that tells so.  So
 * an index is read under the shared lock of its lock file (lock.h).  After a
 * read without checksum the lock file is looked at: has another program had the
 * lock since?  The look takes no lock, and keeps no writer waiting.
 *
 * Layer: store.  May include: base/.  Threads: any.
 */
#ifndef B2F_STORE_TURN_H
#define B2F_STORE_TURN_H

#include "store/lock.h"

/* How long a reader waits for a writer with locks, milliseconds. */
#define B2F_TURN_WAIT_MS 3000

/* Instead of that: the caller has the lock for changes. */
#define B2F_TURN_OURS UINT32_MAX

/* Or: what is read may be of a change under way. */
#define B2F_TURN_NONE (UINT32_MAX - 1)

/*
 * Begins to read the index of @store: takes the shared lock, for which it waits
 * @wait_ms at most, and has store->generation tell its state.  *@out stays NULL if
 * there is no lock file, or one that this process may not use.  Close it with
 * b2f_lock_close() behind the index.
 *
 * Returns 0; -EAGAIN (another program has locked it), -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_turn_begin(struct b2f_store *store, uint32_t wait_ms,
		   struct b2f_lock **out, struct b2f_why *why);

/*
 * The same for more than an index, whose state stays as it is: no program with
 * locks changes the frame until b2f_lock_close().
 */
B2F_MUST_CHECK
int b2f_turn_share(struct b2f_store *store, uint32_t wait_ms,
		   struct b2f_lock **out, struct b2f_why *why);

/*
 * Has another program had the lock for changes since b2f_turn_begin()?  Returns 0
 * (no), -ESTALE, or -ENOENT (there is no lock file that would tell, or @store
 * was not asked to take part).
 */
B2F_MUST_CHECK
int b2f_turn_check(struct b2f_store *store);

#endif
