/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_loan.c - memory for buffers so large that only a few fit
 *
 * A frame of some hundred bytes may claim blocks and chunks of a gigabyte.
 * Their memory while they are decoded, encoded or pinned counts against the
 * size of the cache: a thread waits until others are done, and a block that
 * would never fit is refused before it is allocated.
 *
 * A thread takes its only loan before it begins to load an entry that another
 * thread may wait for.  So no thread with a loan waits for another loan, and
 * all waits end.
 *
 * Buffers up to B2F_CACHE_LARGE are left out: a thread has at most a few of
 * them, and counting them would cost every miss.
 */
#include "run/cache_priv.h"

#include <errno.h>
#include <stdint.h>

#include "base/waiting.h"

void b2f_cache_bound_loans(struct b2f_cache *cache, size_t max_bytes)
{
	cache->loan_max = max_bytes;
}

size_t b2f_cache_loan_max(const struct b2f_cache *cache)
{
	return cache->loan_max;
}

struct b2f_reserve *b2f_cache_reserve(struct b2f_cache *cache)
{
	return &cache->reserve;
}

/*
 * May a thread have @bytes now?  Files that stay open keep their reserved
 * bytes, so a loan that does not fit beside these must not wait: without other
 * loans it is always given.
 */
static bool has_room(const struct b2f_cache *cache, size_t bytes)
{
	uint64_t taken = atomic_load(&cache->reserve.used) + cache->lent.bytes;
	size_t max = cache->loan_max;

	return cache->lent.bytes == 0 || (taken <= max && bytes <= max - taken);
}

int b2f_cache_lend(struct b2f_cache *cache, size_t size, size_t beside,
		   bool wait, struct b2f_cache_loan *out)
{
	size_t bytes = size + beside;
	int err = 0;

	*out = (struct b2f_cache_loan){0};
	if (cache->loan_max == SIZE_MAX ||
	    (bytes >= size && bytes <= B2F_CACHE_LARGE))
		return 0;
	if (bytes < size || bytes > cache->loan_max)
		return -EFBIG;
	pthread_mutex_lock(&cache->room);
	while (!err && !has_room(cache, bytes))
		if (!wait)
			err = -EAGAIN;
		else if (!b2f_waiting_wait(&cache->repaid, &cache->room))
			err = -EINTR;
	if (!err) {
		cache->lent.bytes += bytes;
		cache->lent.beside += beside;
	}
	pthread_mutex_unlock(&cache->room);
	if (err)
		return err;
	if (beside)
		b2f_cache_trim(cache);
	*out = (struct b2f_cache_loan){.bytes = bytes, .beside = beside};
	return 0;
}

void b2f_cache_repay(struct b2f_cache *cache, struct b2f_cache_loan *loan,
		     size_t keep)
{
	if (loan->bytes == 0)
		return;
	pthread_mutex_lock(&cache->room);
	cache->lent.bytes -= loan->bytes - keep;
	cache->lent.beside -= loan->beside;
	pthread_cond_broadcast(&cache->repaid);
	pthread_mutex_unlock(&cache->room);
	*loan = (struct b2f_cache_loan){.bytes = keep};
}
