/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cache_large.c - entries in huge pages */
#include <criterion/criterion.h>
#include <string.h>

#include "run/cache_buffer.h"
#include "run/cache_priv.h"

#define MIB ((size_t)1 << 20)
#define MAX (64 * MIB)

static struct b2f_cache *cache;
static uint64_t file;

static void init(void)
{
	cr_assert_eq(b2f_cache_new(MAX, &cache), 0);
	file = b2f_cache_new_file(cache);
}

static void fini(void)
{
	b2f_cache_free(cache);
}

TestSuite(cache_large, .init = init, .fini = fini);

static int load(void *arg, const struct b2f_cache_key *key, uint8_t *dst,
		size_t size)
{
	(void)arg;
	memset(dst, (int)(key->item % 251), size);
	return 0;
}

/* Uses entry @item of @size bytes, and checks its content. */
static void use(uint64_t item, size_t size)
{
	const struct b2f_cache_loader loader = {.load = load};
	const struct b2f_cache_key key = {.file = file, .item = item};
	struct b2f_cache_ref ref = {0};

	cr_assert_eq(b2f_cache_get(cache, &key, size, &loader, &ref), 0);
	cr_assert_eq(ref.data[0], item % 251);
	cr_assert_eq(ref.data[size - 1], item % 251);
	b2f_cache_put(cache, &ref);
}

/* Bytes of the cache, with the unused rest of its huge pages. */
static size_t taken(void)
{
	struct b2f_cache_stats stats;

	b2f_cache_stats_get(cache, &stats);
	return stats.bytes + cache->spare.nbytes +
	       b2f_arena_slack(&cache->large);
}

Test(cache_large, sizes_that_do_not_share_pages_stay_within_the_bound)
{
	static const size_t sizes[] = {MIB / 4,	    MIB / 2, MIB,     2 * MIB,
				       5 * MIB / 16, MIB / 16, 7 * MIB / 16};
	uint32_t seed = 1;

	for (uint64_t i = 0; i < 4000; i++) {
		seed = seed * 1664525 + 1013904223;
		/* Some earlier entries are used again. */
		if (seed >> 30 == 0 && i > 0)
			use(i - 1, sizes[(i - 1) % 7]);
		use(i, sizes[i % 7]);
		/*
		 * The cache makes room for one buffer, and then takes a whole
		 * slab.
		 */
		cr_assert_leq(taken(), MAX + MAX / 16 + B2F_ARENA_SLAB);
	}
}

Test(cache_large, one_size_fills_pages)
{
	uint64_t n;

	for (uint64_t i = 0; i < 1000; i++)
		use(i, MIB / 2);
	cr_assert_lt(b2f_arena_slack(&cache->large), B2F_ARENA_SLAB);
	n = cache->nentries;
	cr_assert_eq(n, MAX / b2f_cache_charge(MIB / 2));
	b2f_cache_drop_file(cache, file);
	b2f_cache_free_spares(cache);
	cr_assert_eq(b2f_arena_slack(&cache->large), 0);
	cr_assert_eq(taken(), 0);
}
