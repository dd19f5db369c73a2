/* SPDX-License-Identifier: BSD-3-Clause */
/* runtime.c - makes the cache, pool and limits that all files share */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <unistd.h>

#include "base/checked.h"
#include "file/encode.h"
#include "file/runtime_state.h"
#include "run/memory_limit.h"

#define CACHE_DEFAULT	   (UINT64_C(512) << 20)
#define CACHE_MEMORY_SHARE 8
#define WINDOW_DEFAULT	   (UINT64_C(16) << 20)
#define WINDOW_CACHE_SHARE 8
/*
 * Enough for each worker to have something to do.  With more, decoded bytes
 * have left the processor's caches before they are used.
 */
#define NEAR_WINDOW_WORKER (UINT64_C(4) << 20)
/*
 * Buffers of idle decoders that are unusually large may take this part of it.
 */
#define LARGE_CACHE_SHARE 16
/* All windows together may take this part of the cache. */
#define AHEAD_CACHE_SHARE 2

#define DIRTY_CACHE_SHARE 4

/* Blocks and chunks of ordinary sizes work with any cache. */
#define LOANS_MIN (UINT64_C(32) << 20)

static uint64_t default_cache(void)
{
	uint64_t memory = b2f_memory_limit("");

	if (memory < CACHE_MEMORY_SHARE)
		return CACHE_DEFAULT;
	return b2f_min_u64(CACHE_DEFAULT, memory / CACHE_MEMORY_SHARE);
}

static unsigned int default_workers(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (unsigned int)n : 1;
}

static uint64_t near_window(const struct b2f_runtime *rt,
			    const struct b2f_runtime_options *options)
{
	uint64_t enough = NEAR_WINDOW_WORKER * b2f_pool_nworkers(rt->pool);

	return options->readahead_bytes ? rt->window
					: b2f_min_u64(rt->window, enough);
}

int b2f_runtime_new(const struct b2f_runtime_options *options,
		    struct b2f_runtime **out)
{
	uint64_t cache_bytes =
		options->cache_bytes ? options->cache_bytes : default_cache();
	uint64_t window = options->readahead_bytes ? options->readahead_bytes
						   : WINDOW_DEFAULT;
	uint64_t dirty_bytes = options->dirty_bytes
				       ? options->dirty_bytes
				       : cache_bytes / DIRTY_CACHE_SHARE;
	struct b2f_runtime *rt = calloc(1, sizeof(*rt));
	int err;

	if (!rt)
		return -ENOMEM;
	pthread_mutex_init(&rt->open_chunks.lock, NULL);
	pthread_cond_init(&rt->open_chunks.loaded, NULL);
	b2f_idle_init(&rt->idle, dirty_bytes, cache_bytes / LARGE_CACHE_SHARE);
	b2f_budget_init(&rt->budget, dirty_bytes, b2f_encode_spill);
	rt->cache_bytes = cache_bytes;
	rt->window = b2f_min_u64(window, cache_bytes / WINDOW_CACHE_SHARE);
	/* Bandwidth x latency would be less, but is not known. */
	rt->far_window = options->readahead_bytes
				 ? rt->window
				 : cache_bytes / WINDOW_CACHE_SHARE;
	if (options->no_readahead)
		rt->window = rt->far_window = 0;
	rt->ahead_max = cache_bytes / AHEAD_CACHE_SHARE;
	err = b2f_cache_new(cache_bytes, &rt->cache);
	if (!err && options->bounded)
		b2f_cache_bound_loans(rt->cache,
				      b2f_max_u64(cache_bytes, LOANS_MIN));
	if (!err)
		err = b2f_pool_new(options->nworkers ? options->nworkers
						     : default_workers(),
				   &rt->pool);
	if (!err)
		rt->near_window = near_window(rt, options);
	if (err)
		b2f_runtime_free(rt);
	else
		*out = rt;
	return err;
}

void b2f_runtime_free(struct b2f_runtime *runtime)
{
	if (!runtime)
		return;
	/* Jobs use the cache: end them first. */
	b2f_pool_free(runtime->pool);
	b2f_cache_free(runtime->cache);
	b2f_budget_fini(&runtime->budget);
	b2f_idle_fini(&runtime->idle);
	pthread_cond_destroy(&runtime->open_chunks.loaded);
	pthread_mutex_destroy(&runtime->open_chunks.lock);
	free(runtime);
}

void b2f_runtime_stats_get(struct b2f_runtime *runtime,
			   struct b2f_runtime_stats *out)
{
	struct b2f_cache_stats cache;

	b2f_cache_stats_get(runtime->cache, &cache);
	out->hits = cache.hits;
	out->misses = cache.misses;
	out->waits = cache.waits;
	out->evictions = cache.evictions;
	out->cached_bytes = cache.bytes;
	out->cached_blocks = cache.entries;
	out->ahead_chunks = atomic_load(&runtime->ahead_chunks);
	out->dirty_bytes = b2f_budget_bytes(&runtime->budget);
	b2f_tally_get(runtime->tally, out->codecs);
}

int b2f_runtime_for(struct b2f_runtime *runtime, size_t n,
		    int (*fn)(void *arg, size_t i), void *arg)
{
	return b2f_pool_for(runtime->pool, B2F_POOL_DEMAND, n, fn, arg);
}

struct b2f_reserve *b2f_runtime_reserve(struct b2f_runtime *runtime)
{
	return b2f_cache_reserve(runtime->cache);
}

void b2f_runtime_trim(struct b2f_runtime *runtime)
{
	b2f_idle_trim(&runtime->idle);
	b2f_cache_free_spares(runtime->cache);
#ifdef __GLIBC__
	/* Also returns free memory between used blocks. */
	malloc_trim(0);
#endif
}
