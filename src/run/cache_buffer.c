/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_buffer.c - memory for the bytes of entries
 *
 *   entry                  its buffer
 *   ---------------------  -------------------------------------------------
 *   passing                huge pages: it leaves soon, so slabs do not stay
 *                          nearly empty
 *   large, and may stay    huge pages: faulting in ordinary pages, one by
 *                          one, takes longer than decoding the entry
 *   small, and may stay    the heap: one small entry would hold a whole huge
 *                          page
 *
 * The unused rest of the huge pages of large entries counts as used, except for
 * 1/16 of the cache; see fits() in cache_evict.c.  "Large" here is a size from
 * LARGE_MIN to one huge page, not above B2F_CACHE_LARGE.
 */
#include "run/cache_buffer.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/aligned.h"

/* Share of the cache for passing entries, as a divisor. */
#define PASSING_SHARE 8

/*
 * The smallest buffer in huge pages, the share of a page that may be left over,
 * and the most bytes: to place a new buffer is to look at all slabs.
 */
#define LARGE_MIN   (B2F_ARENA_SLAB / 8)
#define WASTE_SHARE 8
#define LARGE_BYTES ((size_t)1 << 30)

/* With fewer slabs, the pages of one or two sizes would fill the cache. */
#define LARGE_SLABS 16

/* Steps between sizes of buffers, per doubling: at most 1/8 is lost. */
#define STEPS_LOG2 3

/*
 * The size of the buffer for @size bytes: equal for sizes that are about equal,
 * so that buffers can be used again.  Powers of two stay the same.
 */
static size_t buffer_size(size_t size)
{
	size_t step = B2F_CACHE_ALIGN;

	while (step << (STEPS_LOG2 + 1) <= size)
		step <<= 1;
	return (size + step - 1) / step * step;
}

size_t b2f_cache_charge(size_t size)
{
	if (size > PTRDIFF_MAX / 2)
		return 0;
	return buffer_size(size) + B2F_ALIGN + sizeof(struct b2f_cache_entry);
}

static bool is_large(size_t size)
{
	return size >= LARGE_MIN && size <= B2F_ARENA_SLAB &&
	       B2F_ARENA_SLAB % size <= B2F_ARENA_SLAB / WASTE_SHARE;
}

uint8_t *b2f_cache_buffer_new(struct b2f_cache *cache,
			      const struct b2f_cache_entry *entry)
{
	size_t size = buffer_size(entry->size);
	struct b2f_arena *arena = NULL;
	uint8_t *data = NULL;

	if (atomic_load(&entry->heat) == B2F_CACHE_PASSING)
		arena = &cache->passing;
	else if (is_large(size) && !entry->oversize)
		arena = &cache->large;
	if (arena) {
		pthread_mutex_lock(&cache->room);
		data = b2f_arena_get(arena, size);
		pthread_mutex_unlock(&cache->room);
	}
	return data ? data : b2f_aligned_new(size);
}

void b2f_cache_buffer_free(struct b2f_cache *cache,
			   struct b2f_cache_entry *entry)
{
	if (b2f_arena_has(&cache->passing, entry->data) ||
	    b2f_arena_has(&cache->large, entry->data)) {
		pthread_mutex_lock(&cache->room);
		if (!b2f_arena_put(&cache->passing, entry->data))
			(void)b2f_arena_put(&cache->large, entry->data);
		pthread_mutex_unlock(&cache->room);
	} else {
		b2f_aligned_free(entry->data);
	}
	free(entry);
}

void b2f_cache_buffers_init(struct b2f_cache *cache)
{
	size_t large = cache->max_bytes < LARGE_BYTES ? cache->max_bytes
						      : LARGE_BYTES;

	b2f_arena_init(&cache->passing, cache->max_bytes / PASSING_SHARE);
	b2f_arena_init(&cache->large,
		       large < LARGE_SLABS * B2F_ARENA_SLAB ? 0 : large);
	cache->large.gives_back = true;
}

void b2f_cache_buffers_fini(struct b2f_cache *cache)
{
	b2f_arena_fini(&cache->passing);
	b2f_arena_fini(&cache->large);
}

void b2f_cache_buffers_trim(struct b2f_cache *cache)
{
	pthread_mutex_lock(&cache->room);
	b2f_arena_trim(&cache->passing);
	b2f_arena_trim(&cache->large);
	pthread_mutex_unlock(&cache->room);
}
