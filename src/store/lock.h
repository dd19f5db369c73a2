/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.h - the locks of C-Blosc2
 *
 * Readers use turn.h.
 *
 * Programs that use C-Blosc2 with BLOSC_LOCKING=1 hold a lock on the file
 * `.b2lock` of a sparse frame, NAME.b2lock beside a contiguous frame NAME:
 * shared while they read, exclusive while they change the frame (docs/format.md
 * 6).  A number in that file, the *generation*, grows with every exclusive
 * lock; a program that finds a new generation reads the frame again.
 *
 * The lock keeps out only programs that use it, and only while it is held.
 * b2f_store_lock() makes sure that there is only one writer of bloscfs.
 *
 * Layer: store.  May include: base/.
 *
 * Threads: a lock belongs to one thread at a time.  Two locks exclude each
 * other, also within one process.
 */
#ifndef B2F_STORE_LOCK_H
#define B2F_STORE_LOCK_H

#include "store/generation.h"
#include "store/store.h"

struct b2f_lock;

/*
 * Opens the lock file of @store, which must outlive *@out except for its close;
 * with @create makes it if there is none.  Close *@out with b2f_lock_close().
 *
 * Returns 0; -ENOENT (there is none, and not @create), B2F_EUNSUPPORTED
 * (@create, but the store is not on a filesystem), B2F_ECORRUPT (it is no plain
 * file), -ENOMEM, or an errno.
 */
B2F_MUST_CHECK
int b2f_lock_open(struct b2f_store *store, bool create, struct b2f_lock **out,
		  struct b2f_why *why);

/* Can other programs write to @store, so that it can have a lock file? */
bool b2f_lock_has_place(const struct b2f_store *store);

/* Releases it if it is held.  The file stays.  NULL does nothing. */
void b2f_lock_close(struct b2f_lock *lock);

/*
 * Takes the lock for changes, which must not be held, and raises the generation
 * (in the record, too, if no other program has changed the frame); waits for
 * other programs at most @wait_ms (0: tries once).
 *
 * Returns 0; -EAGAIN (other programs have it); -EACCES (the file may only be
 * read), or an errno; then it is not held.
 */
B2F_MUST_CHECK
int b2f_lock_acquire(struct b2f_lock *lock, uint32_t wait_ms,
		     struct b2f_why *why);

/*
 * Opens and takes the lock of @store, if there is a lock file, to keep programs
 * with locks out until b2f_lock_close() of *@out; otherwise *@out is NULL.
 * Returns as the two, but not -ENOENT; close *@out also after an error.
 */
B2F_MUST_CHECK
int b2f_lock_out(struct b2f_store *store, uint32_t wait_ms,
		 struct b2f_lock **out, struct b2f_why *why);

/*
 * Takes the lock for reading: other readers go on, writers wait.  Waits for a
 * writer at most @wait_ms.  A read-only file suffices.
 *
 * Returns 0; -EAGAIN (another program is changing the frame), -ENOENT (the file
 * has been deleted), or an errno; then it is not held.
 */
B2F_MUST_CHECK
int b2f_lock_share(struct b2f_lock *lock, uint32_t wait_ms,
		   struct b2f_why *why);

/* Reads the current contents of the lock file.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_lock_look(const struct b2f_lock *lock, struct b2f_lock_state *out);

/*
 * From now on changes under @lock belong to the version of @generation; before,
 * to that of the store.
 */
void b2f_lock_belong(struct b2f_lock *lock, struct b2f_generation *generation);

/*
 * Sets the record to the present state of the held @lock: other programs have
 * had it, but changed nothing.
 */
void b2f_lock_adopt(struct b2f_lock *lock);

/* Releases @lock if it is held. */
void b2f_lock_release(struct b2f_lock *lock);

#endif
