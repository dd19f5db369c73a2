/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cache_loan.c - large buffers count against the size of the cache */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "b2frame/error.h"
#include "b2frame/patience.h"
#include "run/cache.h"

#define MIB ((size_t)1 << 20)
#define MAX (64 * MIB)

static struct b2f_cache *cache;
static uint64_t file;

static void init(void)
{
	cr_assert_eq(b2f_cache_new(MAX, &cache), 0);
	b2f_cache_bound_loans(cache, MAX);
	file = b2f_cache_new_file(cache);
}

static void fini(void)
{
	b2f_cache_free(cache);
}

TestSuite(cache_loan, .init = init, .fini = fini);

static int load(void *arg, const struct b2f_cache_key *key, uint8_t *dst,
		size_t size)
{
	int *err = arg;

	memset(dst, (int)(key->item % 251), size);
	return err ? *err : 0;
}

static int get(uint64_t item, size_t size, size_t beside,
	       struct b2f_cache_ref *ref)
{
	const struct b2f_cache_key key = {.file = file, .item = item};
	const struct b2f_cache_loader loader = {.load = load,
						.beside = beside};

	return b2f_cache_get(cache, &key, size, &loader, ref);
}

static size_t cached(void)
{
	struct b2f_cache_stats stats;

	b2f_cache_stats_get(cache, &stats);
	return stats.bytes;
}

static void fill(void)
{
	for (uint64_t i = 0; i < 64; i++) {
		struct b2f_cache_ref ref = {0};

		cr_assert_eq(get(1000 + i, MIB, 0, &ref), 0);
		b2f_cache_put(cache, &ref);
	}
	cr_assert_gt(cached(), 48 * MIB);
}

Test(cache_loan, small_buffers_are_not_counted)
{
	struct b2f_cache_loan loans[64];

	for (int i = 0; i < 64; i++) {
		cr_assert_eq(b2f_cache_lend(cache, MIB, 3 * MIB, false,
					    &loans[i]),
			     0);
		cr_assert_eq(loans[i].bytes, 0);
	}
	b2f_cache_repay(cache, &loans[0], 0);
}

Test(cache_loan, more_than_there_can_be_is_refused_at_once)
{
	struct b2f_cache_loan loan = {0};
	struct b2f_cache_ref ref = {0};

	cr_assert_eq(b2f_cache_lend(cache, 0, MAX + 1, true, &loan), -EFBIG);
	cr_assert_eq(b2f_cache_lend(cache, SIZE_MAX, MIB, true, &loan), -EFBIG);
	cr_assert_eq(get(1, MAX / 2, MAX / 2 + 1, &ref), -EFBIG);
	cr_assert_null(ref.entry);
	cr_assert_eq(get(1, MAX / 4, MAX / 2, &ref), 0);
	b2f_cache_put(cache, &ref);
}

Test(cache_loan, cache_makes_room_for_what_is_lent)
{
	struct b2f_cache_loan loan;

	fill();
	cr_assert_eq(b2f_cache_lend(cache, 0, 40 * MIB, true, &loan), 0);
	cr_assert_leq(cached(), MAX - 40 * MIB);
	b2f_cache_repay(cache, &loan, 0);
	cr_assert_eq(loan.bytes, 0);
	fill();
}

/* The indexes of open files stay reserved: no wait would end. */
Test(cache_loan, one_loan_is_given_whatever_is_reserved)
{
	struct b2f_reserved index = {.of = b2f_cache_reserve(cache)};
	struct b2f_cache_loan loan, other;

	cr_assert_eq(b2f_reserve_take(&index, MAX + 1), B2F_ETOOBIG);
	cr_assert_eq(b2f_reserve_take(&index, MAX / 2), 0);
	cr_assert_eq(b2f_cache_lend(cache, 0, MAX, true, &loan), 0);
	cr_assert_eq(b2f_cache_lend(cache, 0, 5 * MIB, false, &other), -EAGAIN);
	b2f_cache_repay(cache, &loan, 0);
	cr_assert_eq(b2f_cache_lend(cache, 0, MAX / 4, true, &loan), 0);
	cr_assert_eq(b2f_cache_lend(cache, 0, MAX / 4, false, &other), 0);
	b2f_cache_repay(cache, &loan, 0);
	cr_assert_eq(b2f_cache_lend(cache, 0, MAX / 2, false, &loan), -EAGAIN);
	b2f_reserve_give(&index, MAX / 2);
	cr_assert_eq(b2f_cache_lend(cache, 0, MAX / 2, false, &loan), 0);
	b2f_cache_repay(cache, &loan, 0);
	b2f_cache_repay(cache, &other, 0);
}

Test(cache_loan, pinned_entry_keeps_its_part_until_it_is_put)
{
	struct b2f_cache_loan loan;
	struct b2f_cache_ref ref = {0}, again = {0};
	const struct b2f_cache_key key = {.file = file, .item = 1};

	cr_assert_eq(get(1, 30 * MIB, 30 * MIB, &ref), 0);
	cr_assert_eq(b2f_cache_lend(cache, 0, 35 * MIB, false, &loan), -EAGAIN);
	cr_assert_eq(b2f_cache_lend(cache, 0, 34 * MIB, false, &loan), 0);
	cr_assert_not(b2f_cache_peek(cache, &key, 30 * MIB, &again),
		      "a second pin would be more than there is");
	b2f_cache_repay(cache, &loan, 0);
	cr_assert(b2f_cache_peek(cache, &key, 30 * MIB, &again));
	b2f_cache_put(cache, &again);
	b2f_cache_put(cache, &ref);
	cr_assert_eq(b2f_cache_lend(cache, 0, MAX, false, &loan), 0);
	b2f_cache_repay(cache, &loan, 0);
}

/*
 * A reader pins several small entries, and must not wait for a loan with them.
 */
Test(cache_loan, small_entry_keeps_nothing_of_what_its_load_took)
{
	struct b2f_cache_loan loan;
	struct b2f_cache_ref ref = {0};

	cr_assert_eq(get(1, 3 * MIB, 30 * MIB, &ref), 0);
	cr_assert_eq(ref.loan.bytes, 0);
	cr_assert_eq(b2f_cache_lend(cache, 0, MAX, false, &loan), 0);
	b2f_cache_repay(cache, &loan, 0);
	b2f_cache_put(cache, &ref);
}

Test(cache_loan, failed_load_and_missing_entry_give_all_back)
{
	const struct b2f_cache_key key = {.file = file, .item = 1};
	int err = -EIO;
	const struct b2f_cache_loader bad = {
		.load = load, .arg = &err, .beside = 20 * MIB};
	struct b2f_cache_ref ref = {0};
	struct b2f_cache_loan loan;

	cr_assert_eq(b2f_cache_get(cache, &key, 20 * MIB, &bad, &ref), -EIO);
	cr_assert_not(b2f_cache_peek(cache, &key, 20 * MIB, &ref));
	cr_assert_eq(b2f_cache_lend(cache, 0, MAX, false, &loan), 0);
	b2f_cache_repay(cache, &loan, 0);
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

/* A program that was killed must not stay until others have read. */
Test(cache_loan, wait_of_a_cancelled_request_ends)
{
	struct b2f_cache_loan all, loan;

	cr_assert_eq(b2f_cache_lend(cache, 0, MAX, true, &all), 0);
	b2f_patience_set(always, NULL);
	cr_assert_eq(b2f_cache_lend(cache, 0, 5 * MIB, true, &loan), -EINTR);
	cr_assert_eq(loan.bytes, 0);
	b2f_patience_set(NULL, NULL);
	b2f_cache_repay(cache, &all, 0);
	cr_assert_eq(b2f_cache_lend(cache, 0, MAX, true, &loan), 0);
	b2f_cache_repay(cache, &loan, 0);
}

static atomic_size_t in_use;
static atomic_size_t most;

static void *borrow(void *arg)
{
	for (int i = 0; i < 200; i++) {
		size_t bytes = (5 + (i * 7 + *(int *)arg) % 50) * MIB, now;
		struct b2f_cache_loan loan;

		if (b2f_cache_lend(cache, 0, bytes, true, &loan))
			return arg;
		now = atomic_fetch_add(&in_use, bytes) + bytes;
		if (now > atomic_load(&most))
			atomic_store(&most, now);
		sched_yield();
		atomic_fetch_sub(&in_use, bytes);
		b2f_cache_repay(cache, &loan, 0);
	}
	return NULL;
}

Test(cache_loan, threads_wait_for_each_other_and_all_come_through)
{
	pthread_t threads[8];
	int seeds[8];
	void *failed;

	for (int i = 0; i < 8; i++) {
		seeds[i] = i;
		cr_assert_eq(pthread_create(&threads[i], NULL, borrow,
					    &seeds[i]),
			     0);
	}
	for (int i = 0; i < 8; i++) {
		cr_assert_eq(pthread_join(threads[i], &failed), 0);
		cr_assert_null(failed);
	}
	cr_assert_leq(atomic_load(&most), MAX);
	cr_assert_eq(atomic_load(&in_use), 0);
}

Test(cache_loan, nothing_is_refused_without_a_bound)
{
	struct b2f_cache_loan loan;
	struct b2f_cache *other;

	cr_assert_eq(b2f_cache_new(MIB, &other), 0);
	cr_assert_eq(b2f_cache_lend(other, 0, (size_t)1 << 40, true, &loan), 0);
	b2f_cache_repay(other, &loan, 0);
	b2f_cache_free(other);
}
