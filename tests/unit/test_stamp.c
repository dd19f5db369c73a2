/* SPDX-License-Identifier: BSD-3-Clause */
/* test_stamp.c - stamps of files whose filesystem tells few times */
#include <criterion/criterion.h>
#include <time.h>

#include "store/store.h"

static struct b2f_frame_stamp stamp_at(time_t mtime_s, time_t ctime_s)
{
	const struct stat st = {.st_mtim = {.tv_sec = mtime_s},
				.st_ctim = {.tv_sec = ctime_s}};

	return b2f_frame_stamp_of(&st);
}

Test(stamp, without_a_ctime_the_mtime_tells_changes)
{
	struct b2f_frame_stamp a = stamp_at(time(NULL), 0);
	struct b2f_frame_stamp b = stamp_at(time(NULL) - 9, 0);

	cr_expect_not(b2f_frame_stamp_equal(&a, &b));
	cr_expect_not(b2f_frame_stamp_is_settled(&a));
	cr_expect(b2f_frame_stamp_is_settled(&b));
}

Test(stamp, without_times_a_file_is_no_object_of_a_server)
{
	struct b2f_frame_stamp a = stamp_at(0, 0);
	struct b2f_frame_stamp b = stamp_at(5, 0);

	cr_expect_neq(a.ctime_ns, 0);
	cr_expect_not(b2f_frame_stamp_equal(&a, &b));
}
