/* SPDX-License-Identifier: BSD-3-Clause */
/* test_open_faults.c - bytes that cannot be read tell nothing about a frame */
#include <criterion/criterion.h>

#include "frame/settings.h"
#include "tests/support/fault_store.h"
#include "tests/support/frame_dir.h"

#define BLP B2F_SOURCE_DIR "/tests/fuzz/corpus/blp/02.blp"

#define READS (FAULT_OPEN | FAULT_READ | FAULT_STAT | FAULT_LIST)

/* What an open says of a frame. */
struct outcome {
	int err;
	uint64_t nbytes;
	unsigned int codec;
};

static struct outcome open_it(struct fault_disk *disk)
{
	const struct b2f_frame_options options = {.offset = 0};
	struct b2f_frame *frame = NULL;
	struct outcome out = {0};

	out.err = b2f_frame_open_store(&options, fault_disk_mount(disk),
				       "x.b2frame", &frame);
	if (!out.err) {
		out.nbytes = frame->header.nbytes;
		out.codec = frame->header.codec;
	}
	b2f_frame_close(frame);
	return out;
}

/*
 * Each read of the frame on @disk fails once: the open fails with that error,
 * or says what it says without.  @err: the error without.
 */
static void check(struct fault_disk *disk, int err)
{
	struct outcome want, got;
	uint64_t nops;

	fault_disk_count(disk, READS);
	want = open_it(disk);
	cr_assert_eq(want.err, err, "%d", want.err);
	nops = fault_disk_nops(disk);
	cr_assert_gt(nops, 2);
	for (uint64_t at = 0; at < nops; at++) {
		struct fault_plan plan = {.err = EIO};
		char what[80] = "";

		plan.at = fault_disk_nops(disk) + at;
		fault_disk_fail(disk, &plan);
		got = open_it(disk);
		fault_disk_fail(disk, NULL);
		fault_disk_describe(disk, plan.at, what, sizeof(what));
		cr_assert(got.err == -EIO || (got.err == want.err &&
					      got.nbytes == want.nbytes &&
					      got.codec == want.codec),
			  "%s: %d", what, got.err);
	}
	fault_disk_free(disk);
}

Test(open_faults, a_frame_that_has_lost_its_content)
{
	const uint8_t zeros[600] = {0};

	check(fault_disk_of_index(zeros, 0, false), 0);
	check(fault_disk_of_index(zeros, 0, true), 0);
	check(fault_disk_of_index(zeros, sizeof(zeros), true), B2F_ECORRUPT);
}

Test(open_faults, a_damaged_header)
{
	const struct b2f_settings settings = b2f_settings_default();
	OWN(free) uint8_t *bytes = NULL;
	size_t size = 0;

	cr_assert_eq(b2f_settings_index(&settings, false, &bytes, &size, NULL),
		     0);
	/* A version of the format that does not exist. */
	bytes[25] |= 15;
	check(fault_disk_of_index(bytes, size, false), B2F_ECORRUPT);
}

Test(open_faults, a_bloscpack_file)
{
	struct fault_disk *disk = fault_disk_load(BLP);

	cr_assert_not_null(disk);
	check(disk, 0);
}
