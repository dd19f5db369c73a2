/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool_for.c - one loop, divided among the workers and the calling thread
 *
 * The caller and its helpers are a team.  A helper is a job in the queue like
 * any other, so it may start long after the caller has done all the work and
 * gone.  Therefore the team lives on the heap until its last member leaves,
 * and a member touches the function and its argument only with an index in
 * hand: the caller waits for the indices that were taken, not for helpers.
 */
#include "run/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/waiting.h"

struct team {
	pthread_mutex_t lock;
	/* No call is running, and none will start. */
	pthread_cond_t done;
	int (*fn)(void *arg, size_t i);
	void *arg;
	size_t n;
	/*
	 * The caller's: helpers give up waits when the caller's request does.
	 */
	struct b2f_patience patience;
	/* First index that no thread has taken.  Protected by @lock. */
	size_t next;
	/* Calls that are running.  Protected by @lock. */
	size_t nrunning;
	/* Error of the lowest index that failed.  Protected by @lock. */
	int err;
	/* Index of the first error.  Protected by @lock. */
	size_t err_index;
	/* Helpers, and the caller until it leaves.  Protected by @lock. */
	size_t nmembers;
	struct helper {
		struct b2f_job job;
		struct team *team;
	} helpers[];
};

static void leave(struct team *team)
{
	bool last;

	pthread_mutex_lock(&team->lock);
	last = --team->nmembers == 0;
	pthread_mutex_unlock(&team->lock);
	if (!last)
		return;
	pthread_cond_destroy(&team->done);
	pthread_mutex_destroy(&team->lock);
	free(team);
}

static bool has_work(const struct team *team)
{
	return team->next < team->n && team->err == 0;
}

/* Makes calls until none is left to start. */
static void take_part(struct team *team)
{
	size_t i;
	int err;

	pthread_mutex_lock(&team->lock);
	while (has_work(team)) {
		i = team->next++;
		team->nrunning++;
		pthread_mutex_unlock(&team->lock);
		err = team->fn(team->arg, i);
		pthread_mutex_lock(&team->lock);
		team->nrunning--;
		if (err && (team->err == 0 || i < team->err_index)) {
			team->err = err;
			team->err_index = i;
		}
	}
	if (team->nrunning == 0)
		pthread_cond_signal(&team->done);
	pthread_mutex_unlock(&team->lock);
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

static struct team *gather(struct b2f_pool *pool,
			   enum b2f_pool_priority priority,
			   const struct team *order)
{
	size_t nhelpers = b2f_pool_nworkers(pool);
	struct team *team;

	if (nhelpers > order->n - 1)
		nhelpers = order->n - 1;
	team = malloc(sizeof(*team) + nhelpers * sizeof(team->helpers[0]));
	if (!team)
		return NULL;
	*team = *order;
	team->nmembers = nhelpers + 1;
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->done, NULL);
	for (size_t i = 0; i < nhelpers; i++) {
		team->helpers[i].job.run = help;
		team->helpers[i].team = team;
		b2f_pool_submit(pool, priority, &team->helpers[i].job);
	}
	return team;
}

static int alone(size_t n, int (*fn)(void *arg, size_t i), void *arg)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = fn(arg, i);
	return err;
}

int b2f_pool_for(struct b2f_pool *pool, enum b2f_pool_priority priority,
		 size_t n, int (*fn)(void *arg, size_t i), void *arg)
{
	struct team order = {.fn = fn, .arg = arg, .n = n,
			     .patience = b2f_waiting_patience()};
	struct team *team = NULL;
	int err;

	if (n > 1 && pool)
		team = gather(pool, priority, &order);
	if (!team)
		return alone(n, fn, arg);
	take_part(team);
	pthread_mutex_lock(&team->lock);
	while (team->nrunning > 0)
		pthread_cond_wait(&team->done, &team->lock);
	err = team->err;
	pthread_mutex_unlock(&team->lock);
	leave(team);
	return err;
}
