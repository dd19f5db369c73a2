/* SPDX-License-Identifier: BSD-3-Clause */
/* test_pack_faults.c - packs on a disk that fails */
#include <criterion/criterion.h>

#include "pack/pack.h"
#include "tests/support/fault_store.h"

#define STORE B2F_SOURCE_DIR "/tests/fuzz/corpus/zip/store"

/* Opens the pack of @disk.  Returns the error, or if it has a directory. */
static int open_pack(struct fault_disk *disk)
{
	const struct b2f_frame_options options = {.offset = 0};
	struct b2f_pack *pack = NULL;
	size_t entry;
	int err = b2f_pack_open_store(&options, fault_disk_mount(disk), "x.b2z",
				      &pack);

	if (err)
		return err;
	cr_assert_eq(b2f_pack_find(pack, "embed.b2e", &entry), 0);
	err = b2f_pack_entry(pack, entry)->kind == B2F_PACK_DIR;
	b2f_pack_close(pack);
	return err;
}

/* It would be a file as long as the pack is open. */
Test(pack_faults, what_cannot_be_read_is_not_taken_for_a_file)
{
	struct fault_plan plan = {.err = EMFILE};
	OWN(fault_disk_free) struct fault_disk *disk = fault_disk_load(STORE);
	uint64_t nops;

	fault_disk_count(disk, FAULT_OPEN | FAULT_READ | FAULT_STAT);
	cr_assert_eq(open_pack(disk), 1);
	nops = fault_disk_nops(disk);
	for (uint64_t n = 0; n < nops; n++) {
		int got;

		plan.at = fault_disk_nops(disk) + n;
		fault_disk_fail(disk, &plan);
		got = open_pack(disk);
		cr_expect(got == 1 || got == -EMFILE, "%d at %d", got, (int)n);
	}
}
