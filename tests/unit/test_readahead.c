/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_readahead.c - run/readahead.h: when readahead starts, and how far it
 * goes
 */
#include <criterion/criterion.h>

#include "run/readahead.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)

static struct b2f_readahead ra;
static uint64_t start;
static uint64_t end;

static void setup(void)
{
	b2f_readahead_init(&ra, MIB(8));
}

TestSuite(readahead, .init = setup);

static bool note(uint64_t off, uint64_t size)
{
	return b2f_readahead_note(&ra, off, size, MIB(1024), &start, &end);
}

Test(readahead, second_read_from_the_beginning_opens_the_window)
{
	cr_assert_not(note(0, KIB(128)));
	cr_assert(note(KIB(128), KIB(128)));
	cr_assert_eq(start, KIB(256));
	cr_assert_eq(end, KIB(256 + 512));
}

Test(readahead, stream_in_the_middle_of_a_file_needs_two_reads_in_order)
{
	cr_assert_not(note(MIB(100), KIB(128)));
	cr_assert_not(note(MIB(100) + KIB(128), KIB(128)));
	cr_assert(note(MIB(100) + KIB(256), KIB(128)));
	cr_assert_eq(start, MIB(100) + KIB(384));
}

Test(readahead, random_reads_want_nothing)
{
	uint64_t off = MIB(13);

	for (int i = 0; i < 1000; i++) {
		cr_assert_not(note(off, KIB(4)));
		off = (off * 2862933555777941757u + MIB(37)) % MIB(1000);
	}
}

Test(readahead, switched_off_wants_nothing)
{
	struct b2f_readahead off;

	b2f_readahead_init(&off, 0);
	for (uint64_t i = 0; i < 100; i++)
		cr_assert_not(b2f_readahead_note(&off, i * 4096, 4096, MIB(9),
						 &start, &end));
}

Test(readahead, empty_read_changes_nothing)
{
	cr_assert_not(note(0, KIB(128)));
	cr_assert_not(note(MIB(500), 0));
	cr_assert(note(KIB(128), KIB(128)));
}

/* Reads all in order; returns the number of ranges handed out. */
static int read_through(uint64_t size, uint64_t file_size)
{
	uint64_t handed_to = 0;
	uint64_t widest = 0;
	int n = 0;

	for (uint64_t off = 0; off < file_size; off += size) {
		if (!b2f_readahead_note(&ra, off, size, file_size, &start,
					&end))
			continue;
		cr_assert_lt(start, end);
		cr_assert_leq(end, file_size);
		if (n++ > 0)
			cr_assert_eq(start, handed_to, "gap or overlap");
		handed_to = end;
		cr_assert_leq(end - (off + size), MIB(8));
		if (end - (off + size) > widest)
			widest = end - (off + size);
	}
	cr_assert_eq(handed_to, file_size);
	cr_assert_eq(widest, MIB(8));
	return n;
}

Test(readahead, ranges_follow_each_other_to_the_end_of_the_file)
{
	/* About one range for half a window of 8 MiB. */
	cr_assert_lt(read_through(KIB(128), MIB(256) + 777), 80);
}

Test(readahead, tiny_reads_reach_the_full_window_too)
{
	cr_assert_lt(read_through(KIB(4), MIB(64)), 40);
}

Test(readahead, window_is_capped_by_its_maximum)
{
	cr_assert_not(note(0, MIB(4)));
	cr_assert(note(MIB(4), MIB(4)));
	cr_assert_eq(end - start, MIB(8));
}

Test(readahead, requests_out_of_order_are_one_stream)
{
	static const unsigned int order[] = {0, 2, 1, 3, 7, 5, 4, 6};
	uint64_t handed_to = 0;

	for (uint64_t group = 0; group < 64; group++) {
		for (int i = 0; i < 8; i++) {
			uint64_t off = (group * 8 + order[i]) * KIB(128);

			if (!note(off, KIB(128)))
				continue;
			/* The gap between the two was read meanwhile. */
			cr_assert_geq(start, handed_to);
			handed_to = end;
		}
	}
	cr_assert_gt(handed_to, 64 * 8 * KIB(128));
}

Test(readahead, jump_closes_the_window)
{
	cr_assert_not(note(0, KIB(128)));
	cr_assert(note(KIB(128), KIB(128)));
	cr_assert_not(note(MIB(600), KIB(128)));
	cr_assert_not(note(MIB(600) + KIB(128), KIB(128)));
	cr_assert(note(MIB(600) + KIB(256), KIB(128)));
	cr_assert_eq(start, MIB(600) + KIB(384));
	cr_assert_eq(end - start, KIB(512), "opens small again");
}

Test(readahead, reader_that_overtakes_the_window_moves_it)
{
	cr_assert_not(note(0, KIB(64)));
	cr_assert(note(KIB(64), KIB(64)));
	cr_assert_lt(end, MIB(1));
	cr_assert(note(KIB(128), MIB(1)));
	cr_assert_eq(start, KIB(128) + MIB(1), "not what it read itself");
}

Test(readahead, positions_at_the_end_of_the_number_range_do_not_wrap)
{
	uint64_t off = UINT64_MAX - KIB(512);

	for (int i = 0; i < 8; i++) {
		if (b2f_readahead_note(&ra, off, KIB(128), UINT64_MAX, &start,
				       &end))
			cr_assert_lt(start, end);
		off += KIB(64);
	}
	cr_assert_not(b2f_readahead_note(&ra, 0, UINT64_MAX, 1, &start, &end));
}
