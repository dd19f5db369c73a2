/* SPDX-License-Identifier: BSD-3-Clause */
/* wakeup.c - how requests wake the ticker */
#include <errno.h>

#include "wakeup.h"

enum {
	/* A file is open, or waits for a sync. */
	BUSY = 1,
	/* The kernel has to drop pages at once. */
	URGENT = 2,
	ENDED = 4,
};

void fs_wakeup_init(struct fs_wakeup *wakeup)
{
	atomic_init(&wakeup->state, 0);
	sem_init(&wakeup->changes, 0, 0);
}

void fs_wakeup_fini(struct fs_wakeup *wakeup)
{
	sem_destroy(&wakeup->changes);
}

static void add(struct fs_wakeup *wakeup, unsigned int news)
{
	if ((atomic_fetch_or(&wakeup->state, news) & news) != news)
		sem_post(&wakeup->changes);
}

void fs_wakeup_call(struct fs_wakeup *wakeup, bool is_urgent)
{
	add(wakeup, is_urgent ? BUSY | URGENT : BUSY);
}

void fs_wakeup_end(struct fs_wakeup *wakeup)
{
	add(wakeup, ENDED);
}

static bool is(struct fs_wakeup *wakeup, unsigned int any)
{
	return atomic_load(&wakeup->state) & any;
}

bool fs_wakeup_wait(struct fs_wakeup *wakeup, const struct timespec *next,
		    bool *is_urgent)
{
	unsigned int state;
	bool is_time = false;

	while (!is(wakeup, BUSY | ENDED))
		sem_wait(&wakeup->changes);
	while (!is(wakeup, URGENT | ENDED) && !is_time)
		is_time = sem_clockwait(&wakeup->changes, CLOCK_MONOTONIC,
					next) != 0 &&
			  errno == ETIMEDOUT;
	while (sem_trywait(&wakeup->changes) == 0)
		;
	/* Later calls are for the next wait. */
	state = atomic_fetch_and(&wakeup->state, ~(unsigned int)(BUSY | URGENT));
	*is_urgent = state & URGENT;
	return !(state & ENDED);
}

/*
 * pthread_timedjoin_np() goes by the time of day, which may be set meanwhile,
 * and the thread sanitizer does not know pthread_clockjoin_np().
 */
bool fs_clock_join(pthread_t thread, time_t s)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	const time_t end = fs_clock_s() + s;

	while (pthread_tryjoin_np(thread, NULL)) {
		if (fs_clock_s() > end)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}
