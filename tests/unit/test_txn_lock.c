/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_txn_lock.c - threads of one process that keep other programs out
 */
#include <criterion/criterion.h>
#include <pthread.h>

#include "file/writer.h"
#include "tests/support/fault_work.h"

/* Ranges that nothing names, but that could not be given back, are not lost. */
Test(txn_lock, a_range_that_cannot_be_given_back_is_tried_again)
{
	static struct work w;
	struct b2f_txn *txn;
	uint64_t id = 0;

	begin(&w, make_disk(true));
	write_some(&w, 0, 9000, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	txn = w.file->writer->txn;
	cr_assert_eq(b2f_ranges_take(txn->store->ranges, 512, UINT64_MAX, 900,
				     &id),
		     0);
	cr_assert_eq(b2f_ids_add(&txn->garbage.dead, id), 0);
	/* Another thread waits for a program that has locked the frame. */
	pthread_mutex_lock(&txn->guard.mutex);
	b2f_writer_delete_dead(w.file, B2F_DELETE_PENDING);
	pthread_mutex_unlock(&txn->guard.mutex);
	cr_expect_eq(txn->garbage.dead.n, 1);
	b2f_writer_delete_dead(w.file, B2F_DELETE_PENDING);
	cr_expect_eq(txn->garbage.dead.n, 0);
	end(&w);
	fault_disk_free(w.disk);
}
