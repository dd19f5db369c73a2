/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * generation.h - which state of its lock file a frame belongs to
 *
 * A program that changes a frame under the lock of C-Blosc2 raises the
 * generation first (lock.h).  So the bytes that were read are of the opened
 * version if the lock file is still in the state of that moment.  All users of
 * that version share one record of it: the generations that our own changes add
 * are no news to them.
 *
 * Layer: store.  May include: base/.  Threads: any.
 */
#ifndef B2F_STORE_GENERATION_H
#define B2F_STORE_GENERATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Contents of a lock file.  All zeros: there is none. */
struct b2f_lock_state {
	uint64_t dev;
	uint64_t ino;
	uint64_t generation;
};

struct b2f_generation {
	/* Number of owners, each of which calls b2f_generation_unref(). */
	atomic_uint refs;
	/* Transactions of this process that change the frame. */
	atomic_uint nwriters;
	/* Held from the look at the lock file, or its change, to what follows. */
	pthread_mutex_t lock;
	/* Under @lock: the state in which the frame is the one that was opened. */
	struct b2f_lock_state known;
};

/*
 * Makes the record of a frame that is read while its lock file is in @state;
 * NULL: no memory.
 */
struct b2f_generation *b2f_generation_new(const struct b2f_lock_state *state);

/* NULL does nothing, and gives NULL. */
struct b2f_generation *b2f_generation_ref(struct b2f_generation *g);
void b2f_generation_unref(struct b2f_generation *g);

/*
 * Has no program changed the frame under the lock since, so that the file is as
 * @now says?  A new lock file that no writer has held yet means no change.
 * Call it with @g->lock.
 */
bool b2f_generation_is(const struct b2f_generation *g,
		       const struct b2f_lock_state *now);

/* Takes a transaction of this process on, or off. */
void b2f_generation_begin_writer(struct b2f_generation *g);
void b2f_generation_end_writer(struct b2f_generation *g);
bool b2f_generation_has_writer(const struct b2f_generation *g);

#endif
