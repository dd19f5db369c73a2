/* SPDX-License-Identifier: BSD-3-Clause */
/* test_pool.c - run/pool.h: order, priorities, cancelling, divided loops */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "run/pool.h"
#include "tests/support/own.h"

OWNER(b2f_pool, b2f_pool_free);

struct note {
	struct b2f_job job;
	int id;
};

/* Marks that jobs leave. */
static int seen[64];
static _Atomic int nseen;
static _Atomic int ncancelled;
/* Holds a worker inside a job. */
static sem_t entered;
static sem_t gate;

static void setup(void)
{
	sem_init(&entered, 0, 0);
	sem_init(&gate, 0, 0);
}

TestSuite(pool, .init = setup, .timeout = 120);

static struct b2f_pool *pool_new(unsigned int nworkers)
{
	struct b2f_pool *pool = NULL;

	cr_assert_eq(b2f_pool_new(nworkers, &pool), 0);
	cr_assert_eq(b2f_pool_nworkers(pool), nworkers);
	return pool;
}

static void remember(struct b2f_job *job, bool cancelled)
{
	if (cancelled) {
		ncancelled++;
		return;
	}
	seen[nseen] = ((struct note *)job)->id;
	/* The mark comes first: a test waits for the number. */
	nseen++;
}

static void block(struct b2f_job *job, bool cancelled)
{
	(void)job;
	(void)cancelled;
	sem_post(&entered);
	sem_wait(&gate);
}

/* Waits until @n jobs have left their marks. */
static void wait_seen(int n)
{
	while (nseen < n)
		sched_yield();
}

/* Keeps one worker of @pool busy until the gate opens once. */
static void occupy(struct b2f_pool *pool, struct b2f_job *blocker)
{
	blocker->run = block;
	b2f_pool_submit(pool, B2F_POOL_DEMAND, blocker);
	sem_wait(&entered);
}

Test(pool, no_workers_is_an_error)
{
	struct b2f_pool *pool = NULL;

	cr_assert_eq(b2f_pool_new(0, &pool), -EINVAL);
	cr_assert_null(pool);
	b2f_pool_free(NULL);
}

Test(pool, demand_starts_before_ahead_and_each_in_order)
{
	OWN(b2f_pool_free) struct b2f_pool *pool = pool_new(1);
	struct b2f_job blocker;
	struct note notes[20];

	occupy(pool, &blocker);
	for (int i = 0; i < 20; i++) {
		notes[i].job.run = remember;
		/*
		 * Odd jobs have the higher priority: 1 3 5 ...  then 0 2 4 ...
		 */
		notes[i].id = i;
		b2f_pool_submit(pool, i % 2 ? B2F_POOL_DEMAND : B2F_POOL_AHEAD,
				&notes[i].job);
	}
	sem_post(&gate);
	wait_seen(20);
	for (int i = 0; i < 10; i++) {
		cr_assert_eq(seen[i], 2 * i + 1);
		cr_assert_eq(seen[10 + i], 2 * i);
	}
}

Test(pool, free_cancels_the_jobs_that_did_not_start)
{
	struct b2f_pool *pool = pool_new(1);
	struct b2f_job blocker;
	struct note notes[5];

	occupy(pool, &blocker);
	for (int i = 0; i < 5; i++) {
		notes[i].job.run = remember;
		b2f_pool_submit(pool, B2F_POOL_AHEAD, &notes[i].job);
	}
	/*
	 * The worker may take jobs until free() tells it to end; each is
	 * either run or cancelled, and no later than free() returns.
	 */
	sem_post(&gate);
	b2f_pool_free(pool);
	cr_assert_eq(nseen + ncancelled, 5);
}

static struct b2f_pool *the_pool;

static void submit_another(struct b2f_job *job, bool cancelled)
{
	static struct note other = {.job.run = remember};

	(void)job;
	(void)cancelled;
	b2f_pool_submit(the_pool, B2F_POOL_AHEAD, &other.job);
}

Test(pool, job_may_submit_a_job)
{
	struct b2f_job job = {.run = submit_another};

	the_pool = pool_new(2);
	b2f_pool_submit(the_pool, B2F_POOL_DEMAND, &job);
	wait_seen(1);
	b2f_pool_free(the_pool);
}

static void free_itself(struct b2f_job *job, bool cancelled)
{
	(void)cancelled;
	nseen++;
	free(job);
}

Test(pool, job_may_free_itself)
{
	struct b2f_pool *pool = pool_new(3);

	for (int i = 0; i < 1000; i++) {
		struct b2f_job *job = malloc(sizeof(*job));

		cr_assert_not_null(job);
		job->run = free_itself;
		b2f_pool_submit(pool, (enum b2f_pool_priority)(i % 2), job);
	}
	b2f_pool_free(pool);
	cr_assert_eq(nseen, 1000);
}

static void look_at_signals(struct b2f_job *job, bool cancelled)
{
	sigset_t set;

	(void)job;
	(void)cancelled;
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	nseen = sigismember(&set, SIGTERM) && sigismember(&set, SIGUSR1);
}

Test(pool, workers_block_signals_and_the_creator_does_not)
{
	OWN(b2f_pool_free) struct b2f_pool *pool = pool_new(1);
	struct b2f_job job = {.run = look_at_signals};
	sigset_t set;

	b2f_pool_submit(pool, B2F_POOL_DEMAND, &job);
	wait_seen(1);
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	cr_assert_not(sigismember(&set, SIGTERM));
}

/* Counts the calls of each index. */
static int count_call(void *arg, size_t i)
{
	((_Atomic int *)arg)[i]++;
	return 0;
}

static void check_for(struct b2f_pool *pool, size_t n)
{
	_Atomic int *calls = calloc(n + 1, sizeof(*calls));

	cr_assert_not_null(calls);
	cr_assert_eq(b2f_pool_for(pool, B2F_POOL_DEMAND, n, count_call, calls),
		     0);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(calls[i], 1, "call %zu of %zu: %d", i, n,
			     calls[i]);
	cr_assert_eq(calls[n], 0);
	/* If a late helper touches this now, a sanitizer notices. */
	free(calls);
}

Test(pool, for_calls_each_index_once)
{
	OWN(b2f_pool_free) struct b2f_pool *pool = pool_new(4);

	for (size_t n = 0; n < 40; n++)
		check_for(pool, n);
	check_for(pool, 20000);
}

Test(pool, for_makes_progress_when_all_workers_are_busy)
{
	OWN(b2f_pool_free) struct b2f_pool *pool = pool_new(1);
	struct note last = {.job.run = remember};
	struct b2f_job blocker;

	occupy(pool, &blocker);
	check_for(pool, 100);
	/* The helper, still queued, starts only after the loop has ended. */
	b2f_pool_submit(pool, B2F_POOL_AHEAD, &last.job);
	sem_post(&gate);
	wait_seen(1);
}

Test(pool, for_leaves_no_helper_behind_when_the_pool_is_freed)
{
	OWN(b2f_pool_free) struct b2f_pool *pool = pool_new(2);
	struct b2f_job blockers[2];

	occupy(pool, &blockers[0]);
	occupy(pool, &blockers[1]);
	check_for(pool, 50);
	sem_post(&gate);
	sem_post(&gate);
}

static int fail_some(void *arg, size_t i)
{
	_Atomic int *ncalls = arg;

	(*ncalls)++;
	if (i == 37)
		return -EIO;
	return i > 37 ? -ENOSPC : 0;
}

Test(pool, for_gives_the_error_of_the_lowest_index)
{
	OWN(b2f_pool_free) struct b2f_pool *pool = pool_new(4);

	for (int round = 0; round < 500; round++) {
		_Atomic int ncalls = 0;

		cr_assert_eq(b2f_pool_for(pool, B2F_POOL_AHEAD, 100000,
					  fail_some, &ncalls),
			     -EIO);
		cr_assert_geq(ncalls, 38);
		cr_assert_leq(ncalls, 38 + 5, "calls go on after the error");
	}
}

static int nested(void *arg, size_t i)
{
	(void)i;
	check_for(arg, 50);
	return 0;
}

Test(pool, for_may_be_nested)
{
	OWN(b2f_pool_free) struct b2f_pool *pool = pool_new(2);

	cr_assert_eq(b2f_pool_for(pool, B2F_POOL_DEMAND, 20, nested, pool), 0);
}

static void *call_for(void *arg)
{
	for (size_t i = 0; i < 300; i++)
		check_for(arg, i % 17);
	return NULL;
}

Test(pool, for_may_be_called_by_many_threads)
{
	OWN(b2f_pool_free) struct b2f_pool *pool = pool_new(3);
	pthread_t threads[16];

	for (int i = 0; i < 16; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, call_for, pool),
			     0);
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
}

static void end_with_for(struct b2f_job *job, bool cancelled)
{
	(void)job;
	if (!cancelled)
		check_for(the_pool, 100);
	nseen++;
}

Test(pool, for_works_inside_a_job_while_the_pool_is_freed)
{
	struct b2f_job jobs[8];

	for (int round = 0; round < 200; round++) {
		nseen = 0;
		the_pool = pool_new(3);
		for (int i = 0; i < 8; i++) {
			jobs[i].run = end_with_for;
			b2f_pool_submit(the_pool, B2F_POOL_DEMAND, &jobs[i]);
		}
		b2f_pool_free(the_pool);
		cr_assert_eq(nseen, 8);
	}
}

Test(pool, an_idle_pool_ends_at_once)
{
	b2f_pool_free(pool_new(2));
}
