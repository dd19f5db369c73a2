/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wakeup.h - how requests wake the ticker
 *
 * Layer: fuse.  Threads: _call from any, _wait from the ticker's; the rest from
 * the main one.
 */
#ifndef B2F_FUSE_WAKEUP_H
#define B2F_FUSE_WAKEUP_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "programs/io.h"

struct fs_wakeup {
	/* BUSY, URGENT and ENDED, for the ticker. */
	atomic_uint state;
	/* Posted after each change of @state. */
	sem_t changes;
};

void fs_wakeup_init(struct fs_wakeup *wakeup);
void fs_wakeup_fini(struct fs_wakeup *wakeup);

/*
 * Tells the ticker that a file was opened or waits for a sync; with
 * @is_urgent, that the kernel has to drop pages at once.
 */
void fs_wakeup_call(struct fs_wakeup *wakeup, bool is_urgent);

/* Has fs_wakeup_wait() return false, at once, from now on. */
void fs_wakeup_end(struct fs_wakeup *wakeup);

/*
 * Waits for a call; then until @next, on the monotonic clock, or for an urgent
 * call.  Returns false after fs_wakeup_end().
 */
bool fs_wakeup_wait(struct fs_wakeup *wakeup, const struct timespec *next,
		    bool *is_urgent);

/* The monotonic clock (programs/io.h); from any thread. */
static inline uint64_t fs_clock_ms(void)
{
	return b2f_monotonic_ns() / 1000000;
}

static inline time_t fs_clock_s(void)
{
	return (time_t)(b2f_monotonic_ns() / 1000000000);
}

/* Joins @thread if it ends within about @s seconds; returns whether it did. */
bool fs_clock_join(pthread_t thread, time_t s);

#endif
