/* SPDX-License-Identifier: BSD-3-Clause */
/* test_pump.c - make/pump.h: order, window, errors, end */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "make/pump.h"

#define WINDOW 5

/* Records the steps. */
struct seen {
	/* Only touched by steps that run one at a time. */
	uint64_t ntaken;
	uint64_t nplaced;
	uint64_t nstored;
	uint64_t nbytes;
	atomic_uint_fast64_t nput;
	/* Chunks in memory, and the most there were. */
	atomic_int now;
	atomic_int most;
	/* The chunks that fail in make() and in put(); the number of chunks. */
	uint64_t bad_make;
	uint64_t bad_put;
	uint64_t end;
};

static struct b2f_pool *pool;

static void setup(void)
{
	cr_assert_eq(b2f_pool_new(4, &pool), 0);
}

static void teardown(void)
{
	b2f_pool_free(pool);
}

TestSuite(pump, .init = setup, .fini = teardown, .timeout = 120);

static struct seen nothing(void)
{
	return (struct seen){.bad_make = UINT64_MAX,
			     .bad_put = UINT64_MAX,
			     .end = UINT64_MAX};
}

static int take(void *arg, struct b2f_piece *piece)
{
	struct seen *s = arg;
	int now;

	cr_assert_eq(piece->nchunk, s->ntaken);
	cr_assert_null(piece->bytes);
	if (piece->nchunk == s->end)
		return B2F_PUMP_END;
	s->ntaken++;
	now = atomic_fetch_add(&s->now, 1) + 1;
	if (now > atomic_load(&s->most))
		atomic_store(&s->most, now);
	piece->data = malloc(1);
	return piece->data ? 0 : -ENOMEM;
}

/* Some chunks take much longer than others. */
static int make(void *arg, struct b2f_piece *piece)
{
	const struct seen *s = arg;

	for (uint64_t i = 0; i < piece->nchunk * 7919 % 300; i++)
		sched_yield();
	if (piece->nchunk >= s->bad_make)
		return -(int)(piece->nchunk + 1000);
	piece->bytes = malloc(1);
	piece->nbytes = (uint32_t)piece->nchunk + 1;
	return piece->bytes ? 0 : -ENOMEM;
}

static int place(void *arg, struct b2f_piece *piece)
{
	struct seen *s = arg;

	cr_assert_eq(piece->nchunk, s->nplaced);
	s->nplaced++;
	piece->place = s->nbytes;
	s->nbytes += piece->nbytes;
	return 0;
}

static int put(void *arg, struct b2f_piece *piece)
{
	uint64_t n = piece->nchunk;
	struct seen *s = arg;

	cr_assert_eq(piece->place, n * (n + 1) / 2);
	atomic_fetch_sub(&s->now, 1);
	if (n == s->bad_put)
		return -EIO;
	s->nput++;
	return 0;
}

static void stored(void *arg, const struct b2f_piece *piece)
{
	struct seen *s = arg;

	s->nstored += piece->place >= piece->nchunk;
}

static const struct b2f_pump_steps steps = {take, make, place, put, stored};

Test(pump, chunks_are_taken_and_placed_in_order_by_any_number_of_threads)
{
	for (uint64_t n = 0; n < 300; n += n / 2 + 1) {
		struct seen s = nothing();

		cr_assert_eq(b2f_pump_run(pool, &steps, &s, n, WINDOW), 0);
		cr_assert_eq(s.ntaken, n);
		cr_assert_eq(s.nplaced, n);
		cr_assert_eq(s.nput, n);
		cr_assert_eq(s.nstored, n);
		cr_assert_leq(s.most, WINDOW);
	}
}

Test(pump, a_window_of_one_chunk_is_enough)
{
	struct seen s = nothing();

	cr_assert_eq(b2f_pump_run(pool, &steps, &s, 40, 1), 0);
	cr_assert_eq(s.nput, 40);
	cr_assert_eq(s.most, 1);
}

Test(pump, the_chunk_that_is_not_there_ends_it)
{
	for (uint64_t end = 0; end < 40; end++) {
		struct seen s = nothing();

		s.end = end;
		cr_assert_eq(b2f_pump_run(pool, &steps, &s, UINT64_MAX, WINDOW),
			     0);
		cr_assert_eq(s.nput, end);
	}
}

Test(pump, the_error_of_the_first_chunk_is_told)
{
	struct seen s;

	for (uint64_t bad = 0; bad < 40; bad++) {
		s = nothing();
		s.bad_make = bad;
		cr_assert_eq(b2f_pump_run(pool, &steps, &s, UINT64_MAX, WINDOW),
			     -(int)(bad + 1000));
		cr_assert_leq(s.nplaced, bad);
		s = nothing();
		s.bad_put = bad;
		cr_assert_eq(b2f_pump_run(pool, &steps, &s, UINT64_MAX, WINDOW),
			     -EIO);
	}
}

static int put_any(void *arg, struct b2f_piece *piece)
{
	struct seen *s = arg;

	cr_assert_not_null(piece->bytes);
	s->nput++;
	return 0;
}

Test(pump, chunks_without_an_order_do_not_wait_for_each_other)
{
	static const struct b2f_pump_steps any = {.make = make, .put = put_any};
	struct seen s = nothing();

	cr_assert_eq(b2f_pump_run(pool, &any, &s, 500, WINDOW), 0);
	cr_assert_eq(s.nput, 500);
}

Test(pump, a_window_holds_what_memory_allows)
{
	cr_assert_eq(b2f_pump_window(0, 0), 1);
	cr_assert_eq(b2f_pump_window(3, 300), 3);
	cr_assert_eq(b2f_pump_window(1 << 20, 1 << 20), 1024);
	cr_assert_leq(b2f_pump_window(100, UINT64_C(100) << 20), 100);
	cr_assert_eq(b2f_pump_window(100, UINT64_C(100) << 30), 1);
}
