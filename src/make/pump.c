/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pump.c - chunks from somewhere to somewhere else, on all workers
 *
 *   taken in order -> made -> placed in order -> handed out -> put
 *
 * No deadlock: the thread with the first unplaced chunk never waits for
 * another.
 */
#include "make/pump.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/checked.h"

/*
 * Decoded bytes of a window, if chunks are not larger.  Memory holds their
 * stored bytes, and one decoded chunk per worker.
 */
#define WINDOW_BYTES (UINT64_C(256) << 20)
#define WINDOW_MAX   1024

struct slot {
	struct b2f_piece piece;
	enum { SLOT_FREE, SLOT_TAKEN, SLOT_MADE, SLOT_PLACED } state;
};

struct pump {
	const struct b2f_pump_steps *steps;
	void *arg;
	/* Chunk @i is in slot @i modulo @window. */
	struct slot *slots;
	size_t window;
	/* Protects all below, and the states. */
	pthread_mutex_t lock;
	/* A slot is free, a chunk was taken, or there is an error. */
	pthread_cond_t moved;
	/* A thread takes chunk @ntaken, without the lock. */
	bool taking;
	uint64_t ntaken;
	bool ended;
	/*
	 * Chunks that have a place, and chunks that a thread is putting or has
	 * put.
	 */
	uint64_t nplaced;
	uint64_t nhanded;
	/* The error of the first chunk that failed, and its number. */
	int err;
	uint64_t failed;
};

static struct slot *slot_of(struct pump *p, uint64_t nchunk)
{
	return &p->slots[nchunk % p->window];
}

/* Locked. */
static void fail(struct pump *p, uint64_t nchunk, int err)
{
	if (!p->err || nchunk < p->failed) {
		p->err = err;
		p->failed = nchunk;
	}
	pthread_cond_broadcast(&p->moved);
}

static void empty(struct slot *slot)
{
	free(slot->piece.data);
	free(slot->piece.bytes);
	slot->piece = (struct b2f_piece){.data = NULL};
}

/* Locked, except while the chunk is put. */
static void put(struct pump *p, struct slot *slot)
{
	uint64_t nchunk = slot->piece.nchunk;
	int err = 0;

	pthread_mutex_unlock(&p->lock);
	if (p->steps->put)
		err = p->steps->put(p->arg, &slot->piece);
	pthread_mutex_lock(&p->lock);
	if (!err && p->steps->stored)
		p->steps->stored(p->arg, &slot->piece);
	empty(slot);
	slot->state = SLOT_FREE;
	if (err)
		fail(p, nchunk, err);
	pthread_cond_broadcast(&p->moved);
}

/* Places chunks in order, up to the first that is not made.  Locked. */
static void place(struct pump *p)
{
	struct slot *slot = slot_of(p, p->nplaced);

	while (!p->err && slot->state == SLOT_MADE) {
		int err = p->steps->place(p->arg, &slot->piece);

		if (err) {
			fail(p, p->nplaced, err);
			break;
		}
		slot->state = SLOT_PLACED;
		slot = slot_of(p, ++p->nplaced);
	}
}

/*
 * Waits until it is this thread's turn and the next slot is free.  Returns 0,
 * B2F_PUMP_END, or the error that ends the run.  Locked.
 */
static int claim(struct pump *p, struct slot **out)
{
	while (!p->err && !p->ended &&
	       (p->taking || slot_of(p, p->ntaken)->state != SLOT_FREE))
		pthread_cond_wait(&p->moved, &p->lock);
	if (p->err || p->ended)
		return p->err ? p->err : B2F_PUMP_END;
	*out = slot_of(p, p->ntaken);
	(*out)->state = SLOT_TAKEN;
	(*out)->piece.nchunk = p->ntaken;
	return 0;
}

/* Takes the next chunk.  0, B2F_PUMP_END or an error. */
static int take(struct pump *p, struct slot **out)
{
	int err;

	pthread_mutex_lock(&p->lock);
	err = claim(p, out);
	if (!err && p->steps->take) {
		p->taking = true;
		pthread_mutex_unlock(&p->lock);
		err = p->steps->take(p->arg, &(*out)->piece);
		pthread_mutex_lock(&p->lock);
		p->taking = false;
		p->ended = err == B2F_PUMP_END;
		pthread_cond_broadcast(&p->moved);
	}
	p->ntaken += *out != NULL;
	pthread_mutex_unlock(&p->lock);
	return err;
}

/*
 * Takes one chunk through the steps; also puts chunks that were placed
 * meanwhile.
 */
static int run_one(void *arg, size_t i)
{
	struct pump *p = arg;
	struct slot *slot = NULL;
	int taken = take(p, &slot), err = taken;

	(void)i;
	if (!err)
		err = p->steps->make(p->arg, &slot->piece);
	pthread_mutex_lock(&p->lock);
	if (err < 0 && slot)
		fail(p, slot->piece.nchunk, err);
	if (!err) {
		slot->state = SLOT_MADE;
		if (p->steps->place)
			place(p);
		else
			put(p, slot);
	}
	while (!p->err && p->nhanded < p->nplaced)
		put(p, slot_of(p, p->nhanded++));
	err = p->err ? p->err : taken;
	pthread_mutex_unlock(&p->lock);
	return err;
}

static void init(struct pump *p)
{
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->moved, NULL);
}

static void fini(struct pump *p)
{
	for (size_t i = 0; i < p->window; i++)
		empty(&p->slots[i]);
	pthread_cond_destroy(&p->moved);
	pthread_mutex_destroy(&p->lock);
	free(p->slots);
}

int b2f_pump_run(struct b2f_pool *pool, const struct b2f_pump_steps *steps,
		 void *arg, uint64_t n, size_t window)
{
	struct pump p = {.steps = steps, .arg = arg, .window = window};

	if (n == 0)
		return 0;
	p.slots = calloc(window, sizeof(*p.slots));
	if (!p.slots)
		return -ENOMEM;
	init(&p);
	/* Ignored: p.err has the error of the first chunk that failed. */
	(void)!b2f_pool_for(pool, B2F_POOL_DEMAND,
			    (size_t)b2f_min_u64(n, SIZE_MAX), run_one, &p);
	fini(&p);
	return p.err;
}

size_t b2f_pump_window(uint64_t n, uint64_t nbytes)
{
	uint64_t each = nbytes / (n ? n : 1);
	uint64_t most = b2f_min_u64(WINDOW_BYTES / (each + 1) + 1, WINDOW_MAX);

	return (size_t)b2f_max_u64(b2f_min_u64(most, n), 1);
}
