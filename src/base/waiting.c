/* SPDX-License-Identifier: BSD-3-Clause */
/* waiting.c - waits that end when the request is cancelled */
#include "base/waiting.h"

#include <errno.h>
#include <stddef.h>

#include "programs/io.h"

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
	until = b2f_monotonic_in_ms(STEP_MS);
	return pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &until) ==
		       0 ||
	       !b2f_patience_is_over();
}

bool b2f_waiting_sleep(uint64_t ms)
{
	while (ms > 0) {
		uint64_t part = patience.fn && ms > STEP_MS ? STEP_MS : ms;
		const struct timespec until = b2f_monotonic_in_ms(part);

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
				       NULL) == EINTR)
			;
		ms -= part;
		if (b2f_patience_is_over())
			return false;
	}
	return true;
}
