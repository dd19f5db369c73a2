/* SPDX-License-Identifier: BSD-3-Clause */
/* test_editor_others.c - an editor beside other programs */
#include <criterion/criterion.h>

#include "txn/editor_priv.h"
#include "txn/txn_commit.h"
#include "tests/support/editor_scene.h"

TestSuite(editor_others, .init = editor_scene_begin, .fini = editor_scene_end);

Test(editor_others, a_commit_counts_in_the_lock_of_stock)
{
	uint8_t raw[16] = {0};
	int fd = openat(dirfd_, "f/.b2lock", O_RDWR | O_CREAT, 0644);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, raw, sizeof(raw)), (ssize_t)sizeof(raw));
	open_editor_as(false);
	append_four();
	cr_assert_eq(pread(fd, raw, sizeof(raw), 0), (ssize_t)sizeof(raw));
	cr_assert_eq(raw[8], 1);
	close(fd);
}

Test(editor_others, only_one_process_at_a_time)
{
	const struct b2f_editor_options options = {.no_seal = false};
	struct b2f_editor *other = NULL;

	cr_assert_eq(b2f_editor_open(&options, dirfd_, "f", &other), -EBUSY);
	close_editor();
	cr_assert_eq(b2f_editor_open(&options, dirfd_, "f", &other), 0);
	b2f_editor_close(other);
	cr_assert_eq(b2f_editor_open(&options, dirfd_, "none", &other),
		     -ENOENT);
}

/* Another program writes the index after the third round over all files. */
static int write_meanwhile(void *context, size_t n,
			   int (*fn)(void *arg, size_t i), void *arg)
{
	int *nrounds = context;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = fn(arg, i);
	if (++*nrounds == 3)
		cr_assert_eq(utimensat(dirfd_, "f/chunks.b2frame", NULL, 0), 0);
	return err;
}

Test(editor_others, what_is_written_during_the_syncs_is_not_replaced)
{
	struct b2f_txn *txn = editor->cw.txn;
	int nrounds = 0;
	struct b2f_commit commit = {.durable = true,
				    .each = write_meanwhile,
				    .each_context = &nrounds};

	append(1, CHUNK);
	cr_assert_eq(b2f_txn_freeze(txn, &commit), 0);
	cr_assert_eq(b2f_txn_prepare(txn, &commit), 0);
	cr_assert_eq(b2f_txn_write(txn, &commit), -ESTALE);
	cr_assert_eq(nrounds, 3);
	b2f_txn_finish(txn, &commit);
}
