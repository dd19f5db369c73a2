/* SPDX-License-Identifier: BSD-3-Clause */
/* test_leftovers.c - files that no index names, by the clock of their disk */
#include <criterion/criterion.h>

#include "frame/frame.h"
#include "programs/repair.h"
#include "tests/support/fault_work.h"

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

/* How many chunk files with small numbers have their names? */
static int count_named(struct fault_disk *disk)
{
	struct b2f_store *store = fault_disk_mount(disk);
	struct b2f_frame_stamp st;
	int n = 0;

	for (int64_t id = 0; id < 32; id++)
		n += !b2f_store_identify(store, id, &st);
	b2f_store_free(store);
	return n;
}

/* C-Blosc2 would write over them. */
Test(leftovers, a_commit_that_fails_leaves_no_names_of_chunk_files)
{
	struct fault_plan plan = {.err = EIO, .kinds = FAULT_INSTALL};
	OWN(fault_disk_free) struct fault_disk *disk = make_disk(false);
	static struct work w;

	begin(&w, disk);
	write_some(&w, 0, 22000, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	cr_assert_eq(count_named(disk), 5);
	write_some(&w, 22000, 20000, true);
	plan.at = fault_disk_nops(disk);
	fault_disk_fail(disk, &plan);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), -EIO);
	cr_expect_eq(count_named(disk), 5);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	end(&w);
	cr_expect_eq(count_named(disk), 9);
}
