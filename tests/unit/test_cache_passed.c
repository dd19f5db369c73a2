/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cache_passed.c - run/cache.h: sequential readers use few buffers */
#include "tests/support/cache_support.h"

TestSuite(cache_passed, .init = pattern_init, .timeout = 240);

#define BLOCK 4000

/* Makes one step of a sequential reader, to the end of the entry. */
static bool pass(struct b2f_cache *cache, uint64_t file, uint64_t item)
{
	struct b2f_cache_key key = key_of(file, item);
	struct loader loader = {.passing = true};
	struct b2f_cache_ref ref = get(cache, &key, BLOCK, &loader);

	b2f_cache_put_passed(cache, &ref);
	cr_assert_null(ref.entry);
	return loader.ncalls == 0;
}

Test(cache_passed, reader_in_order_stays_within_a_sixteenth)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(2));

	for (uint64_t i = 0; i < 2000; i++)
		pass(cache, 1, i);
	cr_assert_leq(stats_of(cache).bytes,
		      MIB(2) / 16 + 2 * (BLOCK + OVERHEAD));
	cr_assert(touch(cache, 1, 1999, BLOCK), "the last ones are there");
	cr_assert(touch(cache, 1, 1980, BLOCK));
	cr_assert_not(touch(cache, 1, 1900, BLOCK));
}

Test(cache_passed, buffers_of_passed_entries_are_used_again_oldest_first)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(2));
	struct loader loader = {.passing = true};
	const uint8_t *data[200];

	for (uint64_t i = 0; i < 200; i++) {
		struct b2f_cache_key key = key_of(1, i);
		struct b2f_cache_ref ref = get(cache, &key, BLOCK, &loader);
		uint64_t k = 0;

		data[i] = ref.data;
		while (data[k] != ref.data)
			k++;
		cr_assert_leq(k, 40, "a fresh buffer for %zu", (size_t)i);
		cr_assert(k == i || k == i % (stats_of(cache).entries),
			  "not the oldest");
		b2f_cache_put_passed(cache, &ref);
	}
}

Test(cache_passed, passed_entries_go_before_all_others)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(KIB(512));

	/* Too few passed entries to be evicted for their number. */
	for (uint64_t i = 0; i < 6; i++)
		pass(cache, 1, i);
	for (uint64_t i = 0; i < 118; i++)
		touch(cache, 2, i, BLOCK);
	for (uint64_t i = 0; i < 118; i++)
		cr_assert(touch(cache, 2, i, BLOCK));
	cr_assert_not(touch(cache, 1, 0, BLOCK));
}

Test(cache_passed, passed_entry_that_is_used_again_is_an_ordinary_one)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(2));

	for (uint64_t i = 0; i < 10; i++)
		pass(cache, 1, i);
	for (uint64_t i = 0; i < 10; i++)
		pass(cache, 3, i);
	for (uint64_t i = 0; i < 10; i++)
		cr_assert(pass(cache, 1, i));
	for (uint64_t i = 0; i < 2000; i++)
		pass(cache, 2, i);
	for (uint64_t i = 0; i < 10; i++)
		cr_assert(touch(cache, 1, i, BLOCK));
}

Test(cache_passed, use_that_was_overtaken_does_not_keep_an_entry)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(2));

	for (uint64_t i = 0; i < 2000; i++) {
		pass(cache, 1, i);
		cr_assert(touch(cache, 1, i, BLOCK));
	}
	cr_assert_leq(stats_of(cache).bytes,
		      MIB(2) / 16 + 2 * (BLOCK + OVERHEAD));
}

Test(cache_passed, entries_that_others_had_loaded_are_not_passed)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(2));

	for (uint64_t i = 0; i < 100; i++)
		touch(cache, 1, i, BLOCK);
	for (uint64_t i = 0; i < 2000; i++)
		pass(cache, 1, i);
	for (uint64_t i = 0; i < 100; i++)
		cr_assert(touch(cache, 1, i, BLOCK));
}

Test(cache_passed, pinned_entry_that_was_passed_keeps_its_bytes)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(KIB(256));
	struct b2f_cache_key key = key_of(1, 0);
	struct loader loader = {.passing = true};
	struct b2f_cache_ref one = get(cache, &key, BLOCK, &loader);
	struct b2f_cache_ref two = get(cache, &key, BLOCK, &loader);

	b2f_cache_put_passed(cache, &one);
	for (uint64_t i = 1; i < 500; i++)
		pass(cache, 1, i);
	cr_assert(is_right(&key, &two));
	b2f_cache_put_passed(cache, &two);
	b2f_cache_drop_file(cache, 1);
	cr_assert_eq(stats_of(cache).bytes, 0);
}
