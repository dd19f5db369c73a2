/* SPDX-License-Identifier: BSD-3-Clause */
/* cache_ghost.c - the cache's memory of evicted keys */
#include "run/cache_priv.h"

/* The first of the B2F_CACHE_GHOST_SET places that @hash may take. */
static struct b2f_cache_ghost *ghost_set(struct b2f_cache *cache, uint64_t hash)
{
	uint64_t first = (hash >> 24) & cache->ghost_mask;

	return &cache->ghosts[first & ~(uint64_t)(B2F_CACHE_GHOST_SET - 1)];
}

void b2f_cache_ghost_leave(struct b2f_cache *cache, uint64_t hash)
{
	struct b2f_cache_ghost *set = ghost_set(cache, hash);
	struct b2f_cache_ghost *oldest = set;

	for (int i = 1; i < B2F_CACHE_GHOST_SET; i++)
		if (set[i].since < oldest->since)
			oldest = &set[i];
	oldest->hash = hash;
	oldest->since = atomic_load(&cache->clock);
}

bool b2f_cache_ghost_take(struct b2f_cache *cache, uint64_t hash)
{
	struct b2f_cache_ghost *set = ghost_set(cache, hash);
	uint64_t since;

	for (int i = 0; i < B2F_CACHE_GHOST_SET; i++) {
		since = set[i].since;
		if (set[i].hash != hash || since == 0)
			continue;
		set[i].since = 0;
		return atomic_load(&cache->clock) - since < cache->max_bytes;
	}
	return false;
}
