/* SPDX-License-Identifier: BSD-3-Clause */
/* waiting.c - waits that end when the request is cancelled */
#include "base/waiting.h"

#include <stddef.h>
#include <time.h>

/* Time between two questions whether the request is cancelled. */
#define STEP_MS 200

/* How this thread asks whether its request is cancelled. */
static _Thread_local struct b2f_patience patience;

void b2f_patience_set(b2f_unwanted_fn *fn, void *arg)
{
	patience = (struct b2f_patience){.fn = fn, .arg = arg};
}

struct b2f_patience b2f_waiting_patience(void)
{
	return patience;
}

bool b2f_patience_is_over(void)
{
	return patience.fn && patience.fn(patience.arg);
}

bool b2f_waiting_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	struct timespec until;

	if (!patience.fn) {
		pthread_cond_wait(cond, lock);
		return true;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += STEP_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_cond_timedwait(cond, lock, &until) == 0 ||
	       !b2f_patience_is_over();
}

bool b2f_waiting_sleep(uint64_t ms)
{
	while (ms > 0) {
		uint64_t part = patience.fn && ms > STEP_MS ? STEP_MS : ms;

		nanosleep(&(struct timespec){.tv_sec = (time_t)(part / 1000),
					     .tv_nsec = (long)(part % 1000) *
							1000000},
			  NULL);
		ms -= part;
		if (b2f_patience_is_over())
			return false;
	}
	return true;
}
