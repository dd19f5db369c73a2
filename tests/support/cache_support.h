/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_support.h - shared by the tests of run/cache.h: known bytes for a key
 */
#ifndef B2F_TESTS_CACHE_SUPPORT_H
#define B2F_TESTS_CACHE_SUPPORT_H

#include <criterion/criterion.h>
#include <string.h>

#include "run/cache.h"
#include "tests/support/own.h"

OWNER(b2f_cache, b2f_cache_free);

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)

/* More than the bookkeeping of one entry. */
#define OVERHEAD 512

/* Expected bytes come in runs of this length, each cut out of @pattern. */
#define RUN 256

static uint8_t pattern[2 * RUN];

static inline void pattern_init(void)
{
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)i;
}

/* The bytes of @key from @off on, up to RUN of them. */
static inline const uint8_t *run_of(const struct b2f_cache_key *key, size_t off)
{
	uint64_t x = key->file * 31 + key->item * 7 + key->unit + off;

	return pattern + (x * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

static inline size_t run_length(size_t off, size_t size)
{
	return size - off < RUN ? size - off : RUN;
}

static inline void fill(const struct b2f_cache_key *key, uint8_t *dst,
			size_t size)
{
	for (size_t off = 0; off < size; off += RUN)
		memcpy(dst + off, run_of(key, off), run_length(off, size));
}

static inline bool is_right(const struct b2f_cache_key *key,
			    const struct b2f_cache_ref *ref)
{
	for (size_t off = 0; off < ref->size; off += RUN)
		if (memcmp(ref->data + off, run_of(key, off),
			   run_length(off, ref->size)) != 0)
			return false;
	return true;
}

static inline struct b2f_cache *cache_new(size_t max_bytes)
{
	struct b2f_cache *cache = NULL;

	cr_assert_eq(b2f_cache_new(max_bytes, &cache), 0);
	return cache;
}

static inline struct b2f_cache_key key_of(uint64_t file, uint64_t item)
{
	return (struct b2f_cache_key){.file = file, .item = item};
}

static inline struct b2f_cache_stats stats_of(struct b2f_cache *cache)
{
	struct b2f_cache_stats stats;

	b2f_cache_stats_get(cache, &stats);
	return stats;
}

/* A loader: the number of its calls, and its answer. */
struct loader {
	unsigned int ncalls;
	int err;
	bool passing;
};

static inline int load(void *arg, const struct b2f_cache_key *key, uint8_t *dst,
		       size_t size)
{
	struct loader *loader = arg;

	loader->ncalls++;
	fill(key, dst, size);
	return loader->err;
}

static inline struct b2f_cache_ref get(struct b2f_cache *cache,
				       const struct b2f_cache_key *key,
				       size_t size, struct loader *loader)
{
	const struct b2f_cache_loader how = {
		.load = load, .arg = loader, .passing = loader->passing};
	struct b2f_cache_ref ref = {.entry = NULL};

	cr_assert_eq(b2f_cache_get(cache, key, size, &how, &ref), 0);
	cr_assert_eq(ref.size, size);
	cr_assert_eq((uintptr_t)ref.data % 64, 0);
	cr_assert(is_right(key, &ref));
	return ref;
}

/* Gets and puts an entry; true if it was in the cache already. */
static inline bool touch(struct b2f_cache *cache, uint64_t file, uint64_t item,
			 size_t size)
{
	struct b2f_cache_key key = key_of(file, item);
	struct loader loader = {.err = 0};
	struct b2f_cache_ref ref = get(cache, &key, size, &loader);

	b2f_cache_put(cache, &ref);
	cr_assert_null(ref.entry);
	cr_assert_null(ref.data);
	return loader.ncalls == 0;
}

#endif
