/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.h - worker threads with two priorities
 *
 * Jobs of B2F_POOL_DEMAND (a thread waits for them) always start before
 * jobs of B2F_POOL_AHEAD (no thread waits yet).  Jobs of one priority start in
 * the order of submission.  A running job is never interrupted.
 *
 * Layer: run.  May include: base/.
 *
 * Threads: every function may be called from any thread, jobs included, except
 * b2f_pool_free().
 */
#ifndef B2F_RUN_POOL_H
#define B2F_RUN_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct b2f_pool;

enum b2f_pool_priority {
	B2F_POOL_DEMAND,
	B2F_POOL_AHEAD,
	B2F_POOL_PRIORITIES,
};

/*
 * A piece of work.  Embed it in a struct of the work's arguments.  It belongs
 * to the pool from b2f_pool_submit() until @run is called; @run may free it.
 */
struct b2f_job {
	/* @cancelled: the pool ends; do no work, only release resources. */
	void (*run)(struct b2f_job *job, bool cancelled);
	/* Private to the pool. */
	struct b2f_job *next;
};

/*
 * Creates @nworkers threads (at least 1).  They block all signals, so that
 * signals go to the threads of the program.  Free *@out with b2f_pool_free().
 *
 * Returns 0, -EINVAL (@nworkers is 0), -ENOMEM or -EAGAIN (no more threads).
 */
B2F_MUST_CHECK
int b2f_pool_new(unsigned int nworkers, struct b2f_pool **out);

/*
 * Cancels jobs that did not start, waits for running ones, ends the threads.
 * NULL does nothing.
 */
void b2f_pool_free(struct b2f_pool *pool);

unsigned int b2f_pool_nworkers(const struct b2f_pool *pool);

/* Do more jobs wait for a worker than there are workers? */
bool b2f_pool_is_behind(struct b2f_pool *pool);

/* Queues @job.  Never fails, never blocks for long. */
void b2f_pool_submit(struct b2f_pool *pool, enum b2f_pool_priority priority,
		     struct b2f_job *job);

/*
 * Calls @fn(@arg, i) once for each i < @n, on the workers and on the calling
 * thread, and returns when all calls have returned.  The calling thread works
 * too, so this makes progress even if every worker is busy, and may be used
 * inside a job.  After a call fails, calls that did not start are left out.
 * The helpers need some memory; without it, or if @pool is NULL, the calling
 * thread works alone.
 *
 * Returns 0, or the error of the lowest i that failed.
 */
B2F_MUST_CHECK
int b2f_pool_for(struct b2f_pool *pool, enum b2f_pool_priority priority,
		 size_t n, int (*fn)(void *arg, size_t i), void *arg);

#endif
