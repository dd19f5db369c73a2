/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.c - worker threads with two priorities, and loops divided among them
 *
 * The caller of a loop and its helpers are a team.  A helper is a job in the
 * queue like any other, so it may start long after the caller has done all the
 * work and gone.  Therefore the team lives on the heap until its last member
 * leaves, and a member touches the function and its argument only with an index
 * in hand: the caller waits for the indices that were taken, not for helpers.
 */
#include "run/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/waiting.h"

struct queue {
	struct b2f_job *head;
	/* Where the next job is linked in. */
	struct b2f_job **tail;
};

struct b2f_pool {
	pthread_mutex_t lock;
	/* A job came, or the pool ends. */
	pthread_cond_t work;
	/* Indexed by priority.  Protected by @lock. */
	struct queue queues[B2F_POOL_PRIORITIES];
	/* Jobs in them.  Protected by @lock. */
	size_t nqueued;
	/* Protected by @lock. */
	bool ending;
	/* Const after b2f_pool_new(). */
	unsigned int nworkers;
	pthread_t threads[];
};

static void push(struct b2f_pool *pool, enum b2f_pool_priority priority,
		 struct b2f_job *job)
{
	struct queue *queue = &pool->queues[priority];

	job->next = NULL;
	*queue->tail = job;
	queue->tail = &job->next;
	pool->nqueued++;
}

/* Takes the first job of the highest priority; NULL if there is none. */
static struct b2f_job *pop(struct b2f_pool *pool)
{
	for (int i = 0; i < B2F_POOL_PRIORITIES; i++) {
		struct queue *queue = &pool->queues[i];
		struct b2f_job *job = queue->head;

		if (!job)
			continue;
		queue->head = job->next;
		if (!queue->head)
			queue->tail = &queue->head;
		pool->nqueued--;
		return job;
	}
	return NULL;
}

static void *work(void *arg)
{
	struct b2f_pool *pool = arg;
	struct b2f_job *job;

	pthread_mutex_lock(&pool->lock);
	while (!pool->ending) {
		job = pop(pool);
		if (!job) {
			pthread_cond_wait(&pool->work, &pool->lock);
			continue;
		}
		pthread_mutex_unlock(&pool->lock);
		job->run(job, false);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Starts @n workers; after an error @pool->nworkers of them run. */
static int start(struct b2f_pool *pool, unsigned int n)
{
	sigset_t all;
	sigset_t old;
	int err = 0;

	/* A new thread inherits the mask, so there is no moment without it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (!err && pool->nworkers < n) {
		pthread_t *thread = &pool->threads[pool->nworkers];

		err = -pthread_create(thread, NULL, work, pool);
		if (err)
			break;
		pthread_setname_np(*thread, "b2f-worker");
		pool->nworkers++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

int b2f_pool_new(unsigned int nworkers, struct b2f_pool **out)
{
	struct b2f_pool *pool;
	int err;

	if (nworkers == 0)
		return -EINVAL;
	pool = calloc(1, sizeof(*pool) + nworkers * sizeof(pool->threads[0]));
	if (!pool)
		return -ENOMEM;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	for (int i = 0; i < B2F_POOL_PRIORITIES; i++)
		pool->queues[i].tail = &pool->queues[i].head;

	err = start(pool, nworkers);
	if (err)
		goto out;
	*out = pool;
	pool = NULL; /* now the caller's */
out:
	b2f_pool_free(pool);
	return err;
}

void b2f_pool_free(struct b2f_pool *pool)
{
	struct b2f_job *job;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned int i = 0; i < pool->nworkers; i++)
		pthread_join(pool->threads[i], NULL);
	/* A job may submit more, also while it is cancelled: ask each time. */
	while ((job = pop(pool)))
		job->run(job, true);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

unsigned int b2f_pool_nworkers(const struct b2f_pool *pool)
{
	return pool->nworkers;
}

bool b2f_pool_is_behind(struct b2f_pool *pool)
{
	B2F_HOLD(&pool->lock);

	return pool->nqueued > pool->nworkers;
}

void b2f_pool_submit(struct b2f_pool *pool, enum b2f_pool_priority priority,
		     struct b2f_job *job)
{
	pthread_mutex_lock(&pool->lock);
	push(pool, priority, job);
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

struct team {
	struct b2f_pool *pool;
	int (*fn)(void *arg, size_t i);
	void *arg;
	size_t n;
	/*
	 * The caller's: helpers give up waits when the caller's request does.
	 */
	struct b2f_patience patience;
	/* First index that no thread has taken; @n: there is none. */
	atomic_size_t next;
	/* Indices below @n whose call has returned, or was left out. */
	atomic_size_t ndone;
	/* The caller waits for it, with the lock of the pool: all are done. */
	pthread_cond_t done;
	/*
	 * Error of the lowest index that failed.  Under the lock of the pool.
	 */
	int err;
	size_t err_index;
	/* Helpers, and the caller until it leaves. */
	atomic_size_t nmembers;
	struct helper {
		struct b2f_job job;
		struct team *team;
	} helpers[];
};

static void leave(struct team *team)
{
	if (atomic_fetch_sub(&team->nmembers, 1) != 1)
		return;
	pthread_cond_destroy(&team->done);
	free(team);
}

/* Takes the next index; false if there is none.  @n may be SIZE_MAX. */
static bool take(struct team *team, size_t *i)
{
	*i = atomic_load(&team->next);
	while (*i < team->n &&
	       !atomic_compare_exchange_weak(&team->next, i, *i + 1))
		;
	return *i < team->n;
}

/* Notes the error of index @i; returns how many others will not be called. */
static size_t fail(struct team *team, size_t i, int err)
{
	size_t next = atomic_exchange(&team->next, team->n);
	B2F_HOLD(&team->pool->lock);

	if (team->err == 0 || i < team->err_index) {
		team->err = err;
		team->err_index = i;
	}
	return team->n - next;
}

static void finish(struct team *team, size_t ndone)
{
	if (atomic_fetch_add(&team->ndone, ndone) + ndone < team->n)
		return;
	B2F_HOLD(&team->pool->lock);
	pthread_cond_signal(&team->done);
}

/* Makes calls until none is left to start. */
static void take_part(struct team *team)
{
	size_t i, ndone;
	int err;

	while (take(team, &i)) {
		err = team->fn(team->arg, i);
		ndone = err ? 1 + fail(team, i, err) : 1;
		finish(team, ndone);
	}
}

static void help(struct b2f_job *job, bool cancelled)
{
	/* The job is the helper's first member. */
	struct team *team = ((struct helper *)job)->team;

	b2f_patience_set(team->patience.fn, team->patience.arg);
	if (!cancelled)
		take_part(team);
	b2f_patience_set(NULL, NULL);
	leave(team);
}

/* A team of the caller and its helpers, or NULL: there is no memory. */
static struct team *gather(struct b2f_pool *pool,
			   enum b2f_pool_priority priority, size_t n,
			   int (*fn)(void *arg, size_t i), void *arg)
{
	size_t nhelpers = pool->nworkers < n - 1 ? pool->nworkers : n - 1;
	struct team *team = calloc(1, sizeof(*team) +
				      nhelpers * sizeof(team->helpers[0]));

	if (!team)
		return NULL;
	team->pool = pool;
	team->fn = fn;
	team->arg = arg;
	team->n = n;
	team->patience = b2f_waiting_patience();
	atomic_init(&team->nmembers, nhelpers + 1);
	pthread_cond_init(&team->done, NULL);
	for (size_t i = 0; i < nhelpers; i++) {
		team->helpers[i].job.run = help;
		team->helpers[i].team = team;
		b2f_pool_submit(pool, priority, &team->helpers[i].job);
	}
	return team;
}

int b2f_pool_for(struct b2f_pool *pool, enum b2f_pool_priority priority,
		 size_t n, int (*fn)(void *arg, size_t i), void *arg)
{
	struct team *team = NULL;
	int err = 0;

	if (n > 1 && pool)
		team = gather(pool, priority, n, fn, arg);
	for (size_t i = 0; !team && !err && i < n; i++)
		err = fn(arg, i);
	if (!team)
		return err;
	take_part(team);
	pthread_mutex_lock(&pool->lock);
	while (atomic_load(&team->ndone) < n)
		pthread_cond_wait(&team->done, &pool->lock);
	err = team->err;
	pthread_mutex_unlock(&pool->lock);
	leave(team);
	return err;
}
