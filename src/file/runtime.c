/* SPDX-License-Identifier: BSD-3-Clause */
/* runtime.c - what all files of a process share: cache, workers, decoders */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <unistd.h>

#include "base/checked.h"
#include "file/writer.h"
#include "run/memory_limit.h"

#define CACHE_DEFAULT	   (UINT64_C(512) << 20)
#define CACHE_MEMORY_SHARE 8
#define WINDOW_DEFAULT	   (UINT64_C(16) << 20)
#define WINDOW_CACHE_SHARE 8
/* All windows together may take this part of the cache. */
#define AHEAD_CACHE_SHARE 2

#define DIRTY_CACHE_SHARE 4

/* An idle decoder or encoder keeps buffers up to this size. */
#define DECODER_KEEPS (2u << 20)

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

/* Decoders and encoders that nobody uses. */
static void free_idle(struct b2f_runtime *rt)
{
	pthread_mutex_lock(&rt->decoders_lock);
	while (rt->nidle > 0)
		b2f_decoder_free(rt->idle[--rt->nidle]);
	while (rt->nidle_encoders > 0)
		b2f_encoder_free(rt->idle_encoders[--rt->nidle_encoders]);
	pthread_mutex_unlock(&rt->decoders_lock);
}

int b2f_runtime_new(const struct b2f_runtime_options *options,
		    struct b2f_runtime **out)
{
	uint64_t cache_bytes =
		options->cache_bytes ? options->cache_bytes : default_cache();
	uint64_t window = options->readahead_bytes ? options->readahead_bytes
						   : WINDOW_DEFAULT;
	struct b2f_runtime *rt = calloc(1, sizeof(*rt));
	int err;

	if (!rt)
		return -ENOMEM;
	pthread_mutex_init(&rt->decoders_lock, NULL);
	pthread_mutex_init(&rt->dirty_lock, NULL);
	pthread_cond_init(&rt->dirty_room, NULL);
	rt->dirty_max = options->dirty_bytes ? options->dirty_bytes
					     : cache_bytes / DIRTY_CACHE_SHARE;
	rt->hole_max = cache_bytes;
	rt->window = b2f_min_u64(window, cache_bytes / WINDOW_CACHE_SHARE);
	if (options->no_readahead)
		rt->window = 0;
	rt->ahead_max = cache_bytes / AHEAD_CACHE_SHARE;
	err = b2f_cache_new(cache_bytes, &rt->cache);
	if (!err)
		err = b2f_pool_new(options->nworkers ? options->nworkers
						     : default_workers(),
				   &rt->pool);
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
	/* Jobs use the cache, so they have to end first. */
	b2f_pool_free(runtime->pool);
	b2f_cache_free(runtime->cache);
	free_idle(runtime);
	b2f_budget_free_spares(runtime);
	pthread_cond_destroy(&runtime->dirty_room);
	pthread_mutex_destroy(&runtime->dirty_lock);
	pthread_mutex_destroy(&runtime->decoders_lock);
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
}

void b2f_runtime_trim(struct b2f_runtime *runtime)
{
	free_idle(runtime);
	b2f_budget_free_spares(runtime);
	b2f_cache_free_spares(runtime->cache);
#ifdef __GLIBC__
	/* What is free between other things is in memory until now. */
	malloc_trim(0);
#endif
}

int b2f_runtime_decoder_get(struct b2f_runtime *runtime,
			    struct b2f_decoder **out)
{
	struct b2f_decoder *dec = NULL;

	pthread_mutex_lock(&runtime->decoders_lock);
	if (runtime->nidle > 0)
		dec = runtime->idle[--runtime->nidle];
	pthread_mutex_unlock(&runtime->decoders_lock);
	if (!dec)
		return b2f_decoder_new(out);
	*out = dec;
	return 0;
}

void b2f_runtime_decoder_put(struct b2f_runtime *runtime,
			     struct b2f_decoder *dec)
{
	b2f_decoder_trim(dec, DECODER_KEEPS);
	pthread_mutex_lock(&runtime->decoders_lock);
	if (runtime->nidle < B2F_DECODERS_IDLE) {
		runtime->idle[runtime->nidle++] = dec;
		dec = NULL;
	}
	pthread_mutex_unlock(&runtime->decoders_lock);
	b2f_decoder_free(dec);
}

int b2f_runtime_encoder_get(struct b2f_runtime *runtime,
			    struct b2f_encoder **out)
{
	struct b2f_encoder *enc = NULL;

	pthread_mutex_lock(&runtime->decoders_lock);
	if (runtime->nidle_encoders > 0)
		enc = runtime->idle_encoders[--runtime->nidle_encoders];
	pthread_mutex_unlock(&runtime->decoders_lock);
	if (!enc)
		return b2f_encoder_new(out);
	*out = enc;
	return 0;
}

void b2f_runtime_encoder_put(struct b2f_runtime *runtime,
			     struct b2f_encoder *enc)
{
	b2f_encoder_trim(enc, DECODER_KEEPS);
	pthread_mutex_lock(&runtime->decoders_lock);
	if (runtime->nidle_encoders < B2F_ENCODERS_IDLE) {
		runtime->idle_encoders[runtime->nidle_encoders++] = enc;
		enc = NULL;
	}
	pthread_mutex_unlock(&runtime->decoders_lock);
	b2f_encoder_free(enc);
}
