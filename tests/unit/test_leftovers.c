/* SPDX-License-Identifier: BSD-3-Clause */
/* test_leftovers.c - files that no index names, by the clock of their disk */
#include <criterion/criterion.h>

#include "frame/frame.h"
#include "programs/repair.h"
#include "tests/support/fault_frame.h"

/* The disk's clock is years behind ours. */
Test(leftovers, the_clock_of_the_disk_tells_which_leftovers_are_old)
{
	const struct b2f_frame_options options = {.log = NULL};
	struct fault_disk *disk = fault_frame_varied(false);
	struct b2f_store *writer = fault_disk_mount(disk);
	struct b2f_leftovers found;
	struct b2f_frame_stamp st;
	struct b2f_object object;
	struct b2f_frame *frame = NULL;

	cr_assert_eq(b2f_store_lock(writer, NULL), 0);
	cr_assert_eq(b2f_object_create(writer, 99, &object, NULL), 0);
	cr_assert_eq(b2f_object_write(&object, 0, "new", 3, NULL), 0);
	b2f_object_close(&object);
	b2f_store_unlock(writer);
	cr_assert_eq(b2f_frame_open_store(&options, fault_disk_mount(disk), "",
					  &frame),
		     0);
	cr_assert_eq(b2f_frame_sweep(frame, B2F_SWEEP_SURE, &found), 0);
	cr_expect_eq(b2f_store_identify(writer, 99, &st), 0, "it is gone");
	b2f_frame_close(frame);
	b2f_store_free(writer);
	fault_disk_free(disk);
}
