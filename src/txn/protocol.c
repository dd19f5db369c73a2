/* SPDX-License-Identifier: BSD-3-Clause */
/* protocol.c - the steps of a commit that all protocols have */
#include "txn/protocol.h"

#include <time.h>

#include "index/tags.h"

/* The longest time to give way, and the growth per attempt, in microseconds. */
#define GIVE_WAY_MAX_US 200000
#define GIVE_WAY_US	4000

/* A thread that has the mutex this long waits for other programs. */
#define MUTEX_MS 20

/*
 * Takes the mutex of the lock.  Without time to wait, waits for a thread of
 * ours that takes or releases the lock, but for none that waits for it.
 * Tries again and again, because the thread sanitizer does not know
 * pthread_mutex_clocklock(), and the clock of pthread_mutex_timedlock() may be
 * set.
 */
static int take_mutex(struct b2f_txn *txn, uint32_t wait_ms)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (wait_ms)
		return -pthread_mutex_lock(&txn->guard.mutex);
	for (int i = 0; i < MUTEX_MS; i++) {
		if (pthread_mutex_trylock(&txn->guard.mutex) == 0)
			return 0;
		nanosleep(&pause, NULL);
	}
	return -EAGAIN;
}

int b2f_txn_lock_out(struct b2f_txn *txn, uint32_t wait_ms,
		      struct b2f_why *why)
{
	int err = take_mutex(txn, wait_ms);

	if (err)
		return err;
	if (txn->guard.lock && txn->guard.n == 0)
		err = b2f_lock_acquire(txn->guard.lock, wait_ms, why);
	txn->guard.n += !err;
	pthread_mutex_unlock(&txn->guard.mutex);
	return err;
}

void b2f_txn_let_in(struct b2f_txn *txn)
{
	pthread_mutex_lock(&txn->guard.mutex);
	if (--txn->guard.n == 0 && txn->guard.lock)
		b2f_lock_release(txn->guard.lock);
	pthread_mutex_unlock(&txn->guard.mutex);
}

void b2f_txn_give_way(const struct b2f_txn *txn, unsigned int try)
{
	uint32_t longest = GIVE_WAY_US * (uint32_t)b2f_min_u64(
						 try, GIVE_WAY_MAX_US /
							      GIVE_WAY_US);
	struct timespec pause = {.tv_nsec = 0};

	if (!txn->protocol->is_shared || longest == 0)
		return;
	pause.tv_nsec = (long)(b2f_tag_draw() % longest) * 1000;
	nanosleep(&pause, NULL);
}

uint32_t b2f_txn_len_draw(const struct b2f_txn *txn)
{
	bool is_theirs = !txn->frame->sealed &&
			 txn->header.frame_len == txn->frame->header.frame_len;

	return is_theirs ? b2f_tag_draw() : 0;
}

bool b2f_txn_may_seal(const struct b2f_txn *txn,
		      const struct b2f_txn_state *state)
{
	uint64_t last = state->n ? b2f_txn_raw(state, state->n - 1) : 0;

	return b2f_frame_may_seal(txn->frame, &last, state->n ? 1 : 0);
}

int b2f_txn_make_index(struct b2f_txn *txn, const struct b2f_commit *commit,
			b2f_txn_place_fn *place, uint8_t **out, size_t *size,
			struct b2f_why *why)
{
	const struct b2f_txn_state *state = &commit->state;
	struct b2f_index_parts parts = {
		.header = txn->header,
		.header_bytes = txn->frame->header_bytes,
		.pages = &state->pages,
		.nentries = state->n,
		.place = place,
		.place_arg = txn,
		.len_before = txn->header.frame_len,
		.len_draw = b2f_txn_len_draw(txn),
		.trailer_bytes = txn->frame->trailer_bytes,
		.trailer_len = txn->frame->trailer_len,
		/* In a contiguous frame the place of the index comes first. */
		.sealed = !place && b2f_txn_may_seal(txn, state),
	};

	parts.header.nbytes = state->nbytes;
	parts.header.cbytes = state->cbytes;
	return b2f_index_write(&parts, out, size, why);
}
