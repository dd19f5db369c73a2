/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_txn_lock.c - threads of one process that keep other programs out
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

#include "file/writer.h"
#include "tests/support/fault_work.h"
#include "txn/protocol.h"

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

#define NTIMES	 100000
#define NTHREADS 3

struct crowd {
	struct b2f_txn *txn;
	atomic_uint nrefused;
};

static void *come_and_go(void *arg)
{
	struct crowd *crowd = arg;

	for (int i = 0; i < NTIMES; i++) {
		if (b2f_txn_lock_out(crowd->txn, 0, NULL))
			atomic_fetch_add(&crowd->nrefused, 1);
		else
			b2f_txn_let_in(crowd->txn);
	}
	return NULL;
}

/* A commit that has no time left must not fail because of our own threads. */
Test(txn_lock, threads_do_not_lock_each_other_out)
{
	struct crowd crowd = {.nrefused = 0};
	pthread_t threads[NTHREADS];
	static struct work w;

	begin(&w, make_disk(true));
	crowd.txn = w.file->writer->txn;
	for (size_t i = 0; i < NTHREADS; i++)
		pthread_create(&threads[i], NULL, come_and_go, &crowd);
	for (size_t i = 0; i < NTHREADS; i++)
		pthread_join(threads[i], NULL);
	/* A thread that does not run for long may keep others waiting. */
	cr_expect_lt(atomic_load(&crowd.nrefused), NTHREADS * NTIMES / 100,
		     "%u", atomic_load(&crowd.nrefused));
	end(&w);
	fault_disk_free(w.disk);
}
