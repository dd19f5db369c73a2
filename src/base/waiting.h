/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiting.h - waits that end when the request is cancelled
 *
 * Layer: base.  Threads: any; all is of the calling thread.
 */
#ifndef B2F_BASE_WAITING_H
#define B2F_BASE_WAITING_H

#include <pthread.h>
#include <stdint.h>

#include "b2frame/patience.h"

/* The values of b2f_patience_set(). */
struct b2f_patience {
	b2f_unwanted_fn *fn;
	void *arg;
};

/* Returns this thread's, for a thread that works for it while it waits. */
struct b2f_patience b2f_waiting_patience(void);

/* Like pthread_cond_wait(); false: the patience is over. */
bool b2f_waiting_wait(pthread_cond_t *cond, pthread_mutex_t *lock);

/* Sleeps; false: the patience is over. */
bool b2f_waiting_sleep(uint64_t ms);

#endif
