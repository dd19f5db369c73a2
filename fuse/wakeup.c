/* SPDX-License-Identifier: BSD-3-Clause */
/* wakeup.c - how requests tell the ticker that there is something to do */
#include <errno.h>

#include "wakeup.h"

void fs_wakeup_init(struct fs_wakeup *wakeup)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&wakeup->lock, NULL);
	pthread_cond_init(&wakeup->changed, &attr);
	pthread_condattr_destroy(&attr);
}

void fs_wakeup_fini(struct fs_wakeup *wakeup)
{
	pthread_cond_destroy(&wakeup->changed);
	pthread_mutex_destroy(&wakeup->lock);
}

void fs_wakeup_call(struct fs_wakeup *wakeup, bool is_urgent)
{
	pthread_mutex_lock(&wakeup->lock);
	if (!wakeup->is_busy || is_urgent)
		pthread_cond_signal(&wakeup->changed);
	wakeup->is_busy = true;
	wakeup->is_urgent |= is_urgent;
	pthread_mutex_unlock(&wakeup->lock);
}

void fs_wakeup_end(struct fs_wakeup *wakeup)
{
	pthread_mutex_lock(&wakeup->lock);
	wakeup->ended = true;
	pthread_cond_signal(&wakeup->changed);
	pthread_mutex_unlock(&wakeup->lock);
}

bool fs_wakeup_wait(struct fs_wakeup *wakeup, const struct timespec *next,
		    bool *is_urgent)
{
	bool go_on;
	int err = 0;

	pthread_mutex_lock(&wakeup->lock);
	while (!wakeup->is_busy && !wakeup->ended)
		pthread_cond_wait(&wakeup->changed, &wakeup->lock);
	while (!wakeup->is_urgent && !wakeup->ended && err != ETIMEDOUT)
		err = pthread_cond_timedwait(&wakeup->changed, &wakeup->lock,
					     next);
	*is_urgent = wakeup->is_urgent;
	/* Later events are for the next time. */
	wakeup->is_urgent = wakeup->is_busy = false;
	go_on = !wakeup->ended;
	pthread_mutex_unlock(&wakeup->lock);
	return go_on;
}
