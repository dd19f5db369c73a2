/* SPDX-License-Identifier: BSD-3-Clause */
/* test_ranges.c - positions of the chunks of a contiguous frame */
#include <criterion/criterion.h>
#include <errno.h>

#include "store/ranges.h"

#define SPECIAL (UINT64_C(1) << 63)

static struct b2f_ranges *ranges;

/* Chunks at 100, 300 and 200, the index from 500 to 600. */
static void setup(void)
{
	uint64_t places[] = {0, 200, SPECIAL, 100}, index;

	ranges = b2f_ranges_new();
	cr_assert_eq(b2f_ranges_fill(ranges, places, 4, 100, 500), 0);
	cr_assert_eq(places[0], 0);
	cr_assert_eq(places[1], 1);
	cr_assert_eq(places[2], SPECIAL);
	cr_assert_eq(places[3], 2);
	cr_assert_eq(b2f_ranges_begin(ranges, 600), 0);
	cr_assert_eq(b2f_ranges_add(ranges, 500, 100, &index), 0);
	cr_assert_eq(index, 3);
}

static void teardown(void)
{
	b2f_ranges_unref(ranges);
}

TestSuite(ranges, .init = setup, .fini = teardown);

static void expect(uint64_t id, uint64_t off, uint64_t size)
{
	struct b2f_range range = {0};

	cr_assert(b2f_ranges_get(ranges, id, &range));
	cr_expect_eq(range.off, off);
	cr_expect_eq(range.size, size);
}

static uint64_t take(uint64_t from, uint32_t size)
{
	uint64_t id = 0;

	cr_assert_eq(b2f_ranges_take(ranges, from, UINT64_MAX, size, &id), 0);
	return id;
}

Test(ranges, a_chunk_reaches_to_the_next_one)
{
	struct b2f_range range;

	expect(0, 100, 100);
	expect(2, 200, 100);
	expect(1, 300, 200);
	expect(3, 500, 100);
	cr_expect(!b2f_ranges_get(ranges, 4, &range));
}

Test(ranges, new_ones_are_behind_all_others)
{
	expect(take(0, 50), 600, 50);
	expect(take(0, 1), 650, 1);
}

Test(ranges, what_was_given_back_is_taken_again)
{
	uint64_t last;

	b2f_ranges_give_back(ranges, 2);
	expect(take(0, 60), 200, 60);
	/* 40 bytes are left, which are too few. */
	last = take(0, 41);
	expect(last, 600, 41);
	/* Neighbouring gaps become one gap. */
	b2f_ranges_give_back(ranges, 1);
	expect(take(0, 240), 260, 240);
	cr_expect(b2f_ranges_is_last(ranges, last));
	b2f_ranges_give_back(ranges, last);
	expect(take(0, 10), 600, 10);
}

Test(ranges, an_id_never_comes_back)
{
	uint64_t id;

	b2f_ranges_give_back(ranges, 0);
	id = take(0, 100);
	cr_expect_eq(id, 4);
	expect(id, 100, 100);
	/* Giving it back again does no harm. */
	b2f_ranges_give_back(ranges, 0);
	expect(take(0, 100), 600, 100);
}

Test(ranges, what_was_given_back_is_forgotten_without_harm)
{
	uint64_t old = take(0, 10), id = 0;

	for (int i = 0; i < 100000; i++) {
		id = take(0, 10);
		b2f_ranges_give_back(ranges, old);
		old = id;
	}
	cr_expect_eq(id, 100004);
	expect(0, 100, 100);
	expect(3, 500, 100);
	cr_expect(b2f_ranges_get(ranges, id, &(struct b2f_range){0}));
	cr_expect(!b2f_ranges_get(ranges, 50000, &(struct b2f_range){0}));
	b2f_ranges_give_back(ranges, 50000);
	b2f_ranges_trim(ranges, 50000, 0);
}

Test(ranges, what_is_wanted_from_some_byte_on_is_not_before_it)
{
	b2f_ranges_give_back(ranges, 0);
	b2f_ranges_give_back(ranges, 1);
	expect(take(250, 100), 300, 100);
	expect(take(450, 100), 600, 100);
	expect(take(0, 100), 100, 100);
	expect(take(1000, 10), 1000, 10);
}

Test(ranges, a_gap_that_begins_before_it_is_used_from_there_on)
{
	b2f_ranges_give_back(ranges, 1);
	expect(take(320, 100), 320, 100);
	/* Both ends of the gap are still free. */
	expect(take(0, 20), 300, 20);
	expect(take(0, 80), 420, 80);
	expect(take(0, 1), 600, 1);
}

Test(ranges, what_is_wanted_before_some_byte_is_in_a_gap_there)
{
	uint64_t id = 0;

	b2f_ranges_give_back(ranges, 1);
	cr_expect_eq(b2f_ranges_take(ranges, 0, 300, 10, &id), -ENOSPC);
	cr_expect_eq(b2f_ranges_take(ranges, 0, 310, 11, &id), -ENOSPC);
	cr_expect_eq(b2f_ranges_take(ranges, 0, 310, 10, &id), 0);
	expect(id, 300, 10);
	cr_expect_eq(b2f_ranges_take(ranges, 0, 10000, 200, &id), -ENOSPC);
	expect(take(0, 190), 310, 190);
}

Test(ranges, what_is_not_needed_can_be_taken)
{
	b2f_ranges_trim(ranges, 1, 30);
	expect(1, 300, 30);
	expect(take(0, 170), 330, 170);
}

Test(ranges, what_the_header_covers_is_not_given_back)
{
	uint64_t id = 0;

	/* The range overlaps a chunk and a gap. */
	b2f_ranges_give_back(ranges, 2);
	b2f_ranges_cover(ranges, 250);
	expect(0, 100, 100);
	b2f_ranges_give_back(ranges, 0);
	expect(take(0, 50), 250, 50);
	/* An index that begins in the range, and one that lies in it. */
	cr_assert_eq(b2f_ranges_add(ranges, 10, 270, &id), 0);
	b2f_ranges_cover(ranges, 260);
	b2f_ranges_give_back(ranges, id);
	cr_assert_eq(b2f_ranges_add(ranges, 10, 20, &id), 0);
	b2f_ranges_give_back(ranges, id);
	expect(take(0, 20), 260, 20);
	/* A shorter index was still there. */
	b2f_ranges_cover(ranges, 100);
	b2f_ranges_give_back(ranges, id);
	expect(take(0, 1), 600, 1);
}

static int check(uint64_t a, uint64_t b)
{
	const uint64_t ids[] = {a, b};

	return b2f_ranges_check(ranges, ids, 2);
}

Test(ranges, what_another_range_has_may_not_be_given_back)
{
	uint64_t twin = 0, over = 0;

	cr_expect_eq(check(0, 1), 0);
	cr_expect_eq(check(0, 17), 0);
	/* The range overlaps its neighbour before, or behind. */
	cr_assert_eq(b2f_ranges_add(ranges, 250, 50, &twin), 0);
	cr_expect_eq(check(0, 1), 0);
	cr_expect_eq(check(0, 2), -EINVAL);
	cr_expect_eq(check(twin, 1), -EINVAL);
	cr_expect_eq(check(twin, 2), -EINVAL);
	cr_assert_eq(b2f_ranges_add(ranges, 0, 600, &over), 0);
	cr_expect_eq(check(0, 1), -EINVAL);
	cr_expect_eq(check(over, 17), -EINVAL);
}

Test(ranges, where_another_range_was_does_not_count)
{
	uint64_t both;

	b2f_ranges_give_back(ranges, 0);
	b2f_ranges_give_back(ranges, 2);
	/* The second chunk began in the middle of this range. */
	both = take(0, 150);
	expect(both, 100, 150);
	cr_expect_eq(check(both, 17), 0);
}

Test(ranges, what_is_free_or_the_headers_may_not_be_given_back)
{
	uint64_t again = 0, index = 0;

	b2f_ranges_give_back(ranges, 2);
	cr_assert_eq(b2f_ranges_add(ranges, 210, 10, &again), 0);
	cr_expect_eq(check(0, 1), 0);
	cr_expect_eq(check(again, 1), -EINVAL);
	/* Of an index that begins in the header the rest counts. */
	cr_assert_eq(b2f_ranges_add(ranges, 10, 90, &index), 0);
	b2f_ranges_cover(ranges, 40);
	cr_expect_eq(check(index, 0), 0);
	cr_assert_eq(b2f_ranges_add(ranges, 40, 20, &again), 0);
	cr_expect_eq(check(index, 0), -EINVAL);
	b2f_ranges_cover(ranges, 60);
	cr_expect_eq(check(index, 0), 0);
}

Test(ranges, two_chunks_in_one_place_are_refused)
{
	uint64_t places[] = {5, 9, 5};

	cr_assert_eq(b2f_ranges_fill(ranges, places, 3, 0, 500), 0);
	cr_expect_eq(b2f_ranges_begin(ranges, 600), -EEXIST);
}

/* So many ranges that a search skips most of them. */
Test(ranges, one_of_many_that_shares_a_byte_is_found)
{
	const uint64_t n = 5000, size = 100;
	uint64_t places[5000], twin = 0;

	for (uint64_t i = 0; i < n; i++)
		places[i] = (i * 1237 % n) * size;
	cr_assert_eq(b2f_ranges_fill(ranges, places, n, 0, n * size), 0);
	cr_assert_eq(b2f_ranges_begin(ranges, n * size), 0);
	for (uint64_t i = 0; i + 1 < n; i += 97)
		cr_expect_eq(check(i, i + 1), 0);
	for (uint64_t i = 0; i < n; i += 501) {
		uint64_t off = (i * 1237 % n) * size;

		cr_assert_eq(b2f_ranges_add(ranges, off + 99, 1, &twin), 0);
		cr_expect_eq(check(i, i + 1), -EINVAL);
		cr_expect_eq(check(twin, i + 1), -EINVAL);
		b2f_ranges_trim(ranges, i, 99);
		cr_expect_eq(check(i, i + 1), 0);
		cr_expect_eq(check(twin, i + 1), -EINVAL);
	}
}
