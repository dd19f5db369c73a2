/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.c - worker threads with two priorities */
#include "run/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

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
	bool behind;

	pthread_mutex_lock(&pool->lock);
	behind = pool->nqueued > pool->nworkers;
	pthread_mutex_unlock(&pool->lock);
	return behind;
}

void b2f_pool_submit(struct b2f_pool *pool, enum b2f_pool_priority priority,
		     struct b2f_job *job)
{
	pthread_mutex_lock(&pool->lock);
	push(pool, priority, job);
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}
