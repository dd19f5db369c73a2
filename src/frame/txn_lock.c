/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_lock.c - other programs wait while a transaction writes */
#include "frame/txn_lock.h"

#include <time.h>

#include "index/tags.h"

/* The longest time to give way, and how much longer each time, microseconds. */
#define GIVE_WAY_MAX_US 200000
#define GIVE_WAY_US	4000

int b2f_txn_lock_out(struct b2f_txn *txn, uint32_t wait_ms,
		      struct b2f_why *why)
{
	int err = 0;

	/* Without time to wait, nor for another thread that does. */
	if (wait_ms)
		pthread_mutex_lock(&txn->lock_mutex);
	else if (pthread_mutex_trylock(&txn->lock_mutex))
		return -EAGAIN;
	if (txn->lock && txn->nlocked == 0)
		err = b2f_lock_acquire(txn->lock, wait_ms, why);
	txn->nlocked += !err;
	pthread_mutex_unlock(&txn->lock_mutex);
	return err;
}

void b2f_txn_let_in(struct b2f_txn *txn)
{
	pthread_mutex_lock(&txn->lock_mutex);
	if (--txn->nlocked == 0 && txn->lock)
		b2f_lock_release(txn->lock);
	pthread_mutex_unlock(&txn->lock_mutex);
}

void b2f_txn_give_way(const struct b2f_txn *txn, unsigned int try)
{
	uint32_t longest = GIVE_WAY_US * (uint32_t)b2f_min_u64(
						 try, GIVE_WAY_MAX_US /
							      GIVE_WAY_US);
	struct timespec pause = {.tv_nsec = 0};

	if (!txn->store->shared || longest == 0)
		return;
	pause.tv_nsec = (long)(b2f_tag_draw() % longest) * 1000;
	nanosleep(&pause, NULL);
}
