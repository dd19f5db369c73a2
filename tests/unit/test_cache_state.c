/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cache_state.c - the states of the kernel's cached pages of a file */
#include <criterion/criterion.h>

#include "fuse/cache_state.h"

/* The stamp of version @n, later and larger than that of version @n - 1. */
static struct b2f_frame_stamp version(int n)
{
	return (struct b2f_frame_stamp){
		.ino = 7, .size = n, .mtime_ns = n, .ctime_ns = n};
}

static bool open_at(struct fs_cache_state *seen, int n, bool settled)
{
	struct b2f_frame_stamp stamp = version(n);

	return fs_cache_state_open(seen, &stamp, settled);
}

static void close_at(struct fs_cache_state *seen, int n, bool settled)
{
	struct b2f_frame_stamp stamp = version(n);

	fs_cache_state_close(seen, &stamp, true, settled);
}

static void ours(struct fs_cache_state *seen, int n)
{
	struct b2f_frame_stamp stamp = version(n);

	fs_cache_state_ours(seen, &stamp);
}

Test(cache_state, the_cache_is_kept_for_the_same_version)
{
	struct fs_cache_state seen = {0};

	cr_assert_not(open_at(&seen, 1, true));
	close_at(&seen, 1, true);
	cr_assert(open_at(&seen, 1, true));
	cr_assert(open_at(&seen, 1, true), "one more");
	close_at(&seen, 1, true);
	close_at(&seen, 1, true);
	cr_assert_not(open_at(&seen, 2, true), "of others");
	close_at(&seen, 2, true);
	cr_assert(open_at(&seen, 2, true));
}

Test(cache_state, a_version_that_is_not_settled_is_not_kept)
{
	struct fs_cache_state seen = {0};

	cr_assert_not(open_at(&seen, 1, false));
	/* The pages may be of another version with that stamp. */
	close_at(&seen, 1, true);
	cr_assert_not(open_at(&seen, 1, true));
	close_at(&seen, 1, true);
	cr_assert(open_at(&seen, 1, true));
}

Test(cache_state, what_we_wrote_is_kept_once_it_is_settled)
{
	struct fs_cache_state seen = {0};

	cr_assert_not(open_at(&seen, 1, true));
	ours(&seen, 2);
	cr_assert(fs_cache_state_may_share(&seen));
	close_at(&seen, 2, false);
	cr_assert_not(open_at(&seen, 2, false));
	ours(&seen, 3);
	close_at(&seen, 3, true);
	cr_assert(open_at(&seen, 3, true));
	/* A commit that was not reported is ours as well. */
	close_at(&seen, 4, true);
	cr_assert(open_at(&seen, 4, true));
}

Test(cache_state, what_others_wrote_is_dropped_and_not_kept)
{
	struct fs_cache_state seen = {0};
	uint64_t n;

	cr_assert_not(open_at(&seen, 1, true));
	fs_cache_state_theirs(&seen, NULL);
	cr_assert_eq(seen.drop, FS_CACHE_DROP_SELF);
	cr_assert_not(fs_cache_state_may_share(&seen));
	cr_assert(fs_cache_state_begin_drop(&seen, FS_CACHE_DROP_SELF, &n));
	cr_assert_not(fs_cache_state_may_share(&seen));
	fs_cache_state_end_drop(&seen, FS_CACHE_DROP_SELF, n);
	cr_assert(fs_cache_state_may_share(&seen));
	/* Bytes read meanwhile may be old, even after our own commit. */
	ours(&seen, 3);
	close_at(&seen, 3, true);
	cr_assert_not(open_at(&seen, 3, true));
	close_at(&seen, 3, true);
	cr_assert(open_at(&seen, 3, true));
}

Test(cache_state, what_a_change_may_have_outlived_is_dropped_again)
{
	struct fs_cache_state seen = {.drop = FS_CACHE_DROP_VIEW};
	uint64_t n;

	cr_assert_eq(fs_cache_state_begin_drop(&seen, FS_CACHE_DROP_SELF, &n),
		     0);
	seen.nbegun++;
	cr_assert_eq(fs_cache_state_begin_drop(&seen, FS_CACHE_DROP_VIEW, &n),
		     FS_CACHE_DROP_VIEW);
	fs_cache_state_end_drop(&seen, FS_CACHE_DROP_VIEW, n);
	cr_assert_eq(seen.drop, 0, "the change goes on");
	cr_assert(fs_cache_state_end_change(&seen));
	cr_assert_eq(seen.drop, FS_CACHE_DROP_VIEW);
	/* It may be so short that the drop begins before and ends after it. */
	cr_assert(fs_cache_state_begin_drop(&seen, FS_CACHE_DROP_VIEW, &n));
	seen.nbegun++;
	cr_assert_not(fs_cache_state_end_change(&seen));
	fs_cache_state_end_drop(&seen, FS_CACHE_DROP_VIEW, n);
	cr_assert_eq(seen.drop, FS_CACHE_DROP_VIEW);
	cr_assert(fs_cache_state_begin_drop(&seen, FS_CACHE_DROP_VIEW, &n));
	fs_cache_state_end_drop(&seen, FS_CACHE_DROP_VIEW, n);
	cr_assert_eq(seen.drop, 0);
}

Test(cache_state, a_drop_of_the_view_leaves_the_file_alone)
{
	struct fs_cache_state seen = {0};

	cr_assert_not(open_at(&seen, 1, true));
	seen.drop |= FS_CACHE_DROP_VIEW;
	cr_assert(fs_cache_state_may_share(&seen));
}

Test(cache_state, only_an_open_for_the_kernel_makes_its_cache_right)
{
	struct b2f_frame_stamp one = version(1), two = version(2);
	struct fs_cache_state seen = {0};

	cr_assert_not(fs_cache_state_must_drop(&seen, &one), "there is nothing yet");
	cr_assert_not(open_at(&seen, 1, true));
	close_at(&seen, 1, true);
	cr_assert_not(fs_cache_state_must_drop(&seen, &one));
	cr_assert(fs_cache_state_must_drop(&seen, &two));
	fs_cache_state_open_inside(&seen, &one, true);
	cr_assert(fs_cache_state_may_share(&seen));
	close_at(&seen, 1, true);
	cr_assert_not(fs_cache_state_must_drop(&seen, &one));
	fs_cache_state_open_inside(&seen, &two, true);
	cr_assert_not(fs_cache_state_may_share(&seen));
	seen.drop = 0;
	close_at(&seen, 2, true);
	cr_assert(fs_cache_state_must_drop(&seen, &two));
}

Test(cache_state, a_new_file_has_nothing_to_drop)
{
	struct b2f_frame_stamp two = version(2);
	struct fs_cache_state seen = {0};

	ours(&seen, 1);
	cr_assert_not(fs_cache_state_must_drop(&seen, &two));
	(void)open_at(&seen, 1, false);
	close_at(&seen, 1, false);
	cr_assert(fs_cache_state_must_drop(&seen, &two));
}

Test(cache_state, attributes_are_no_data)
{
	struct b2f_frame_stamp before = version(1), now = version(1);
	struct fs_cache_state seen = {0};

	cr_assert_not(open_at(&seen, 1, true));
	close_at(&seen, 1, true);
	now.ctime_ns = 9;
	fs_cache_state_meta(&seen, &before, &now);
	cr_assert(fs_cache_state_open(&seen, &now, false));
	cr_assert_not(fs_cache_state_is_ours(&seen, &now));
	/* An unseen version does not count as ours. */
	before = version(5);
	fs_cache_state_meta(&seen, &before, &now);
	cr_assert_not(fs_cache_state_is_ours(&seen, &now));
}

Test(cache_state, the_ctime_is_that_of_the_change)
{
	struct b2f_frame_stamp stamp = version(8), other = version(9);
	struct fs_cache_state seen = {0};

	fs_cache_state_ours_at(&seen, &stamp, INT64_C(3000000002));
	cr_assert(fs_cache_state_is_ours(&seen, &stamp));
	cr_assert_eq(seen.ctime.tv_sec, 3);
	cr_assert_eq(seen.ctime.tv_nsec, 2);
	cr_assert_not(fs_cache_state_is_ours(&seen, &other));
	fs_cache_state_theirs(&seen, &other);
	cr_assert_not(fs_cache_state_is_ours(&seen, &other));
}

Test(cache_state, a_size_of_others_needs_a_new_inode)
{
	struct b2f_frame_stamp one = version(1), two = version(2);
	struct fs_cache_state seen = {0};

	cr_assert_not(fs_cache_state_must_renew(&seen, &one), "it is new");
	cr_assert_not(fs_cache_state_must_renew(&seen, &one));
	ours(&seen, 2);
	cr_assert_not(fs_cache_state_must_renew(&seen, &two));
	cr_assert(fs_cache_state_must_renew(&seen, &one));
	seen = (struct fs_cache_state){0};
	cr_assert_not(open_at(&seen, 1, true));
	fs_cache_state_theirs(&seen, &two);
	close_at(&seen, 2, true);
	cr_assert(fs_cache_state_must_renew(&seen, &two), "seen while it was open");
}

static struct fs_look look(int n, bool settled, bool alone)
{
	return (struct fs_look){
		.stamp = version(n), .settled = settled, .alone = alone};
}

Test(cache_state, changes_of_others_are_told_from_ours_by_looks)
{
	struct fs_look first = look(1, true, true), theirs = look(2, true, true);
	struct fs_look half = look(3, true, false), both = look(4, true, true);
	struct fs_cache_state seen = {0};

	cr_assert_not(fs_cache_state_open_look(&seen, &first, false));
	fs_cache_state_compare(&seen, &first);
	cr_assert_eq(seen.drop, 0);
	/*
	 * Nothing is decided while our change goes on, or after overlapping
	 * ones.
	 */
	seen.nbegun++;
	fs_cache_state_compare(&seen, &half);
	cr_assert_eq(seen.drop, 0);
	seen.nended++;
	fs_cache_state_compare(&seen, &both);
	cr_assert_eq(seen.drop, 0);
	cr_assert_not(fs_cache_state_is_ours(&seen, &both.stamp));
	fs_cache_state_compare(&seen, &theirs);
	cr_assert_eq(seen.drop, FS_CACHE_DROP_SELF);
}

Test(cache_state, an_open_drops_nothing_that_is_being_written)
{
	struct fs_look now = look(1, false, true), later = look(1, true, true);
	struct fs_cache_state seen = {0};

	cr_assert_not(fs_cache_state_open_look(&seen, &now, false));
	cr_assert(fs_cache_state_open_look(&seen, &now, true));
	/* With readers alone the pages are dropped until the state is sure. */
	cr_assert_not(fs_cache_state_open_look(&seen, &now, false));
	cr_assert_not(fs_cache_state_open_look(&seen, &later, false));
	cr_assert(fs_cache_state_open_look(&seen, &later, false));
	cr_assert_eq(seen.nopen, 5);
}

Test(cache_state, a_file_that_is_read_within_the_tick_of_its_change_is_dropped_once)
{
	const struct fs_look early = {version(1), false, true},
			     late = {version(1), true, true};
	struct fs_cache_state seen = {0};

	cr_assert_not(fs_cache_state_open_look(&seen, &early, false));
	fs_cache_state_compare(&seen, &early);
	fs_cache_state_resolve(&seen, &early);
	cr_assert_eq(seen.drop, 0, "it may change again");
	fs_cache_state_resolve(&seen, &late);
	cr_assert_eq(seen.drop, FS_CACHE_DROP_SELF);
	seen.drop = 0;
	fs_cache_state_compare(&seen, &late);
	fs_cache_state_resolve(&seen, &late);
	cr_assert_eq(seen.drop, 0);
}

Test(cache_state, what_we_write_is_not_dropped_for_want_of_a_tick)
{
	const struct fs_look late = {version(2), true, true};
	struct fs_cache_state seen = {0};

	cr_assert_not(open_at(&seen, 1, true));
	ours(&seen, 2);
	fs_cache_state_resolve(&seen, &late);
	cr_assert_eq(seen.drop, 0);
}
