/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cache.c - run/cache.h: pins, failures, limits and evictions */
#include <errno.h>

#include "tests/support/cache_support.h"

TestSuite(cache, .init = pattern_init, .timeout = 240);

Test(cache, without_any_room_is_an_error)
{
	struct b2f_cache *cache = NULL;

	cr_assert_eq(b2f_cache_new(0, &cache), -EINVAL);
	cr_assert_null(cache);
	b2f_cache_free(NULL);
}

Test(cache, file_numbers_differ_and_are_not_zero)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	uint64_t first = b2f_cache_new_file(cache);

	cr_assert_neq(first, 0);
	cr_assert_neq(b2f_cache_new_file(cache), first);
}

Test(cache, second_get_is_a_hit)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));

	cr_assert_not(touch(cache, 1, 5, 1000));
	cr_assert(touch(cache, 1, 5, 1000));
	cr_assert_not(touch(cache, 2, 5, 1000), "another file");
	cr_assert_eq(stats_of(cache).hits, 1);
	cr_assert_eq(stats_of(cache).misses, 2);
	cr_assert_eq(stats_of(cache).entries, 2);
}

Test(cache, every_part_of_the_key_counts)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	struct b2f_cache_key keys[] = {
		{.file = 1, .item = 2, .unit = 3},
		{.file = 2, .item = 2, .unit = 3},
		{.file = 1, .item = 3, .unit = 3},
		{.file = 1, .item = 2, .unit = 4},
		{.file = 1, .item = 3, .unit = 2},
	};
	struct loader loader = {.err = 0};

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < 5; i++) {
			struct b2f_cache_ref ref =
				get(cache, &keys[i], 100, &loader);

			b2f_cache_put(cache, &ref);
		}
	cr_assert_eq(loader.ncalls, 5);
}

Test(cache, put_of_nothing_does_nothing)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	struct b2f_cache_ref ref = {.entry = NULL};

	b2f_cache_put(cache, &ref);
}

Test(cache, failed_load_is_tried_again)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	struct b2f_cache_key key = key_of(1, 1);
	struct b2f_cache_ref ref = {.entry = NULL};
	struct loader loader = {.err = -EIO};

	cr_assert_eq(b2f_cache_get(cache, &key, 100,
				   &(struct b2f_cache_loader){
					   .load = load, .arg = &loader},
				   &ref),
		     -EIO);
	cr_assert_null(ref.entry, "untouched on error");
	cr_assert_not(b2f_cache_has(cache, &key));
	cr_assert_eq(stats_of(cache).bytes, 0);
	cr_assert_eq(stats_of(cache).entries, 0);
	loader.err = 0;
	ref = get(cache, &key, 100, &loader);
	cr_assert_eq(loader.ncalls, 2);
	b2f_cache_put(cache, &ref);
}

Test(cache, claimed_entry_is_there_once_it_is_settled)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	struct b2f_cache_key key = key_of(1, 1);
	struct b2f_cache_claim claim, other;
	struct b2f_cache_ref ref = {.entry = NULL};
	struct loader loader = {.err = 0};

	for (int err = -EIO; err <= 0; err -= -EIO) {
		cr_assert(b2f_cache_claim(cache, &key, 1000, false, &claim));
		cr_assert_not(b2f_cache_claim(cache, &key, 1000, false, &other));
		cr_assert(b2f_cache_has(cache, &key));
		cr_assert_not(b2f_cache_peek(cache, &key, 1000, &ref));
		fill(&key, claim.data, claim.size);
		b2f_cache_settle(cache, &claim, err);
		cr_assert_eq(b2f_cache_has(cache, &key), err == 0);
	}
	ref = get(cache, &key, 1000, &loader);
	cr_assert(is_right(&key, &ref));
	b2f_cache_put(cache, &ref);
	cr_assert_eq(loader.ncalls, 0);
	cr_assert_eq(stats_of(cache).misses, 2);
	cr_assert_not(b2f_cache_claim(cache, &key, 1000, false, &claim));
}

Test(cache, size_that_cannot_be_is_no_memory)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	struct b2f_cache_key key = key_of(1, 1);
	struct b2f_cache_ref ref = {.entry = NULL};
	struct loader loader = {.err = 0};

	cr_assert_eq(b2f_cache_get(cache, &key, SIZE_MAX,
				   &(struct b2f_cache_loader){
					   .load = load, .arg = &loader},
				   &ref),
		     -ENOMEM);
	cr_assert_eq(loader.ncalls, 0);
	cr_assert_eq(stats_of(cache).bytes, 0);
}

Test(cache, peek_and_has_do_not_load)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	struct b2f_cache_key key = key_of(1, 1);
	struct b2f_cache_ref ref = {.entry = NULL};

	cr_assert_not(b2f_cache_peek(cache, &key, 300, &ref));
	cr_assert_not(b2f_cache_has(cache, &key));
	cr_assert_null(ref.entry);
	touch(cache, 1, 1, 300);
	cr_assert(b2f_cache_has(cache, &key));
	cr_assert_not(b2f_cache_peek(cache, &key, 299, &ref));
	cr_assert(b2f_cache_peek(cache, &key, 300, &ref));
	cr_assert_eq(ref.size, 300);
	cr_assert(is_right(&key, &ref));
	b2f_cache_put(cache, &ref);
	cr_assert_eq(stats_of(cache).misses, 1);
}

Test(cache, another_size_under_the_same_key_is_refused)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	struct b2f_cache_key key = key_of(1, 1);
	struct b2f_cache_ref ref = {.entry = NULL};
	struct loader loader = {.err = 0};

	touch(cache, 1, 1, 300);
	cr_assert_eq(b2f_cache_get(cache, &key, 301,
				   &(struct b2f_cache_loader){
					   .load = load, .arg = &loader},
				   &ref),
		     -ESTALE);
	cr_assert_null(ref.entry);
	cr_assert_eq(loader.ncalls, 0);
}

Test(cache, bytes_stay_below_the_limit)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));

	for (uint64_t i = 0; i < 3000; i++) {
		touch(cache, 1 + i % 3, i, 1 + i * 977 % 60000);
		cr_assert_leq(stats_of(cache).bytes, MIB(1));
	}
	cr_assert_gt(stats_of(cache).bytes, MIB(1) / 2);
	cr_assert_gt(stats_of(cache).evictions, 0);
}

Test(cache, pinned_entries_stay_and_the_rest_goes)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	struct loader loader = {.err = 0};
	struct b2f_cache_ref refs[16];
	struct b2f_cache_key key;

	for (uint64_t i = 0; i < 16; i++) {
		key = key_of(1, i);
		refs[i] = get(cache, &key, KIB(128), &loader);
	}
	cr_assert_geq(stats_of(cache).bytes, 16 * KIB(128));
	cr_assert_leq(stats_of(cache).bytes, 16 * (KIB(128) + OVERHEAD));
	for (uint64_t i = 0; i < 100; i++)
		touch(cache, 2, i, KIB(64));
	for (uint64_t i = 0; i < 16; i++) {
		key = key_of(1, i);
		cr_assert(is_right(&key, &refs[i]));
		b2f_cache_put(cache, &refs[i]);
	}
	cr_assert_leq(stats_of(cache).bytes, MIB(1), "the last puts trim");
}

Test(cache, entry_larger_than_the_cache_is_kept_beside_the_others)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(KIB(256));
	struct b2f_cache_key big = key_of(1, 1);
	struct loader loader = {.err = 0};
	struct b2f_cache_ref one;
	struct b2f_cache_ref two;

	touch(cache, 2, 1, KIB(100));
	one = get(cache, &big, MIB(1), &loader);
	two = get(cache, &big, MIB(1), &loader);
	cr_assert_geq(stats_of(cache).bytes, MIB(1) + KIB(100));
	b2f_cache_put(cache, &one);
	b2f_cache_put(cache, &two);
	for (int i = 0; i < 10; i++) {
		cr_assert(touch(cache, 1, 1, MIB(1)));
		cr_assert(touch(cache, 2, 1, KIB(100)), "no reader makes room");
	}
	cr_assert_eq(loader.ncalls, 1);
}

Test(cache, only_the_last_of_those_larger_than_the_cache_is_kept)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(KIB(256));
	struct b2f_cache_key one = key_of(1, 1), two = key_of(1, 2);
	struct loader loader = {.err = 0};
	struct b2f_cache_ref ref;

	cr_assert_not(touch(cache, 1, 1, MIB(1)));
	ref = get(cache, &two, MIB(2), &loader);
	cr_assert_not(b2f_cache_has(cache, &one), "gone before the load");
	/* It is in use, so it stays while a third entry comes and goes. */
	cr_assert_not(touch(cache, 1, 3, MIB(1)));
	cr_assert(touch(cache, 1, 2, MIB(2)));
	b2f_cache_put(cache, &ref);
	cr_assert(touch(cache, 1, 2, MIB(2)));
	cr_assert_not(touch(cache, 1, 3, MIB(1)));
	cr_assert_leq(stats_of(cache).bytes, MIB(1) + OVERHEAD);
	cr_assert_eq(stats_of(cache).entries, 1);
	b2f_cache_drop_file(cache, 1);
	cr_assert_eq(stats_of(cache).bytes, 0);
}

Test(cache, entry_larger_than_the_cache_goes_when_others_load)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(KIB(256));
	struct b2f_cache_key big = key_of(1, 1);

	cr_assert_not(touch(cache, 1, 1, MIB(1)));
	for (uint64_t i = 0; i < 100; i++) {
		touch(cache, 2, i, KIB(30));
		cr_assert(touch(cache, 1, 1, MIB(1)), "used all the time");
	}
	for (uint64_t i = 100; i < 104; i++)
		touch(cache, 2, i, KIB(30));
	cr_assert_not(b2f_cache_has(cache, &big));
	cr_assert_leq(stats_of(cache).bytes, KIB(256));
}

Test(cache, cache_of_one_byte_works)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(1);

	for (uint64_t i = 0; i < 100; i++)
		cr_assert_not(touch(cache, 1, i % 2, 1 + i));
	cr_assert_eq(stats_of(cache).entries, 1);
}

Test(cache, drop_file_forgets_that_file_only)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	struct b2f_cache_key key = key_of(1, 3);
	struct loader loader = {.err = 0};
	struct b2f_cache_ref ref;

	for (uint64_t i = 0; i < 10; i++) {
		touch(cache, 1, i, 5000);
		/* A file in the same list of files. */
		touch(cache, 1025, i, 5000);
	}
	ref = get(cache, &key, 5000, &loader);
	b2f_cache_drop_file(cache, 1);
	cr_assert_not(b2f_cache_has(cache, &key));
	cr_assert(is_right(&key, &ref), "pinned bytes stay valid");
	cr_assert_eq(stats_of(cache).entries, 11);
	b2f_cache_put(cache, &ref);
	cr_assert_eq(stats_of(cache).entries, 10);
	for (uint64_t i = 0; i < 10; i++)
		cr_assert(touch(cache, 1025, i, 5000));
	cr_assert_not(touch(cache, 1, 3, 5000));
	b2f_cache_drop_file(cache, 1);
	b2f_cache_drop_file(cache, 1025);
	cr_assert_eq(stats_of(cache).bytes, 0);
}

Test(cache, buffer_of_an_evicted_entry_is_used_again)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(1));
	const uint8_t *seen[64];
	size_t nseen = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		struct b2f_cache_key key = key_of(1, i);
		struct loader loader = {.err = 0};
		struct b2f_cache_ref ref;
		size_t k = 0;

		/* Entries of about equal size share buffers. */
		ref = get(cache, &key, KIB(64) - i % 5, &loader);
		while (k < nseen && seen[k] != ref.data)
			k++;
		cr_assert_lt(k, 20, "a new buffer each time");
		if (k == nseen)
			seen[nseen++] = ref.data;
		b2f_cache_put(cache, &ref);
	}
}

#define HOT_BLOCKS   128
#define BLOCK	     4000
#define SCAN_PER_HOT 5

/*
 * Uses a hot set of a quarter of the cache again and again.  Between two uses
 * of a block one and a half caches of other blocks are read, so that LRU would
 * lose the whole set: a sequential reader reads each of them in four requests.
 * Returns the misses of the hot set in 40 rounds.
 */
static unsigned int scan_beside_hot_set(struct b2f_cache *cache)
{
	unsigned int nmisses = 0;
	uint64_t next = 0;

	for (uint64_t i = 0; i < 40 * HOT_BLOCKS; i++) {
		for (int k = 0; k < SCAN_PER_HOT; k++, next++)
			for (int request = 0; request < 4; request++)
				touch(cache, 1, next, BLOCK);
		nmisses += !touch(cache, 2, i % HOT_BLOCKS, BLOCK);
	}
	return nmisses;
}

Test(cache, scan_does_not_throw_out_the_hot_set)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(2));
	unsigned int nmisses = scan_beside_hot_set(cache);

	/*
	 * Each block misses once, once more after leaving a ghost, and a few
	 * again.
	 */
	cr_expect_leq(nmisses, 2 * HOT_BLOCKS + 32, "%u misses", nmisses);
}

Test(cache, scan_does_not_throw_out_a_hot_set_that_was_there_before)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(MIB(2));
	unsigned int nmisses;

	for (uint64_t i = 0; i < 8 * HOT_BLOCKS; i++)
		touch(cache, 2, i % HOT_BLOCKS, BLOCK);
	nmisses = scan_beside_hot_set(cache);
	cr_expect_leq(nmisses, HOT_BLOCKS + 32, "%u misses", nmisses);
}

Test(cache, old_hot_set_makes_way_for_a_new_one)
{
	OWN(b2f_cache_free) struct b2f_cache *cache = cache_new(KIB(512));
	unsigned int nhits = 0;

	for (uint64_t set = 1; set < 5; set++)
		for (uint64_t i = 0; i < 20 * 192; i++)
			nhits += touch(cache, set, i % 192, 2000);
	/* The first two of 20 rounds of each set may miss. */
	cr_expect_geq(nhits, 4 * 18 * 192 - 192);
}
