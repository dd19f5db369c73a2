/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiting.h - waits that end when the request is cancelled
 *
 * Layer: base.  Threads: any; each has a patience of its own.
 */
#ifndef B2F_BASE_WAITING_H
#define B2F_BASE_WAITING_H

#include <pthread.h>
#include <stdint.h>

#include "b2frame/patience.h"

/*
 * The arguments of b2f_patience_set(): how to ask whether a request is
 * cancelled.
 */
struct b2f_patience {
	b2f_unwanted_fn *fn;
	void *arg;
};

/* Returns this thread's patience, for helpers that work for its request. */
struct b2f_patience b2f_waiting_patience(void);

/* Like pthread_cond_wait(); false if the request was cancelled. */
bool b2f_waiting_wait(pthread_cond_t *cond, pthread_mutex_t *lock);

/* Sleeps @ms milliseconds; false, and earlier, if the request is cancelled. */
bool b2f_waiting_sleep(uint64_t ms);

#endif
