/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * generation.h - the generation of the lock file that a version belongs to
 *
 * A program that changes a frame under the lock of C-Blosc2 raises the
 * generation first (lock.h).  So bytes are of the opened version if the lock
 * file has not changed since the open.  All users of a version share one
 * record, to which our own changes of the generation are added.
 *
 * Layer: store.  May include: base/.  Threads: any.
 */
#ifndef B2F_STORE_GENERATION_H
#define B2F_STORE_GENERATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Contents of a lock file.  All zeros: there is no lock file. */
struct b2f_lock_state {
	uint64_t dev;
	uint64_t ino;
	uint64_t generation;
};

struct b2f_generation {
	/* Number of owners, each of which calls b2f_generation_unref(). */
	atomic_uint refs;
	/* Transactions of this process on the frame. */
	atomic_uint nwriters;
	/*
	 * Held while the lock file is read or changed, and @known compared or
	 * set.
	 */
	pthread_mutex_t lock;
	/* Under @lock: the state of the lock file for the opened version. */
	struct b2f_lock_state known;
};

/*
 * Makes the record for a frame that is read while its lock file is in @state;
 * NULL: out of memory.
 */
struct b2f_generation *b2f_generation_new(const struct b2f_lock_state *state);

/* Adds a reference.  Returns NULL for NULL. */
struct b2f_generation *b2f_generation_ref(struct b2f_generation *g);
void b2f_generation_unref(struct b2f_generation *g);

/*
 * Is the lock file, now in state @now, unchanged but for our own changes?  A
 * new lock file that no writer has held yet counts as unchanged.  Call it with
 * @g->lock.
 */
bool b2f_generation_is(const struct b2f_generation *g,
		       const struct b2f_lock_state *now);

/* Registers a transaction of this process, or ends it. */
void b2f_generation_begin_writer(struct b2f_generation *g);
void b2f_generation_end_writer(struct b2f_generation *g);
bool b2f_generation_has_writer(const struct b2f_generation *g);

#endif
