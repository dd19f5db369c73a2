/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * generation.h - which state of its lock file a frame belongs to
 *
 * A program that changes a frame under the lock of C-Blosc2 raises the generation
 * first (lock.h).  So what was read of a frame is of the version that was opened
 * if the lock file is in the state in which it was then.  All who use that
 * version share one record of this: what our own changes add is no news to them.
 *
 * Layer: store.  May include: base/.  Threads: any.
 */
#ifndef B2F_STORE_GENERATION_H
#define B2F_STORE_GENERATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a lock file says.  All zeros: there is none. */
struct b2f_lock_state {
	uint64_t dev;
	uint64_t ino;
	uint64_t generation;
};

struct b2f_generation {
	/* Of those who will call b2f_generation_unref(). */
	atomic_uint refs;
	/* Transactions of this process that change the frame. */
	atomic_uint nwriters;
	/* Held from the look at the lock file, or its change, to what follows. */
	pthread_mutex_t lock;
	/* Under @lock: the state in which the frame is the one that was opened. */
	struct b2f_lock_state known;
};

/* Of a frame that is read while its lock file is as @state says; NULL: no memory. */
struct b2f_generation *b2f_generation_new(const struct b2f_lock_state *state);

/* NULL does nothing, and gives NULL. */
struct b2f_generation *b2f_generation_ref(struct b2f_generation *g);
void b2f_generation_unref(struct b2f_generation *g);

/*
 * Has no program changed the frame under the lock since, so that the file is as
 * @now says?  One that has come meanwhile and that no writer has had yet tells of
 * no change.  Call it with @g->lock.
 */
bool b2f_generation_is(const struct b2f_generation *g,
		       const struct b2f_lock_state *now);

/* Takes a transaction of this process on, or off. */
void b2f_generation_begin_writer(struct b2f_generation *g);
void b2f_generation_end_writer(struct b2f_generation *g);
bool b2f_generation_has_writer(const struct b2f_generation *g);

#endif
