/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wakeup.h - how requests tell the ticker that there is something to do
 *
 * Layer: fuse.  Threads: _call from any, _wait from the ticker's; the rest from
 * the main one.
 */
#ifndef B2F_FUSE_WAKEUP_H
#define B2F_FUSE_WAKEUP_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

struct fs_wakeup {
	/* What the ticker is to know. */
	atomic_uint state;
	/* It has changed since the ticker has seen it. */
	sem_t changes;
};

void fs_wakeup_init(struct fs_wakeup *wakeup);
void fs_wakeup_fini(struct fs_wakeup *wakeup);

/*
 * Tells the ticker that something was opened or left to a sync; with
 * @is_urgent, that the kernel has to drop something now.
 */
void fs_wakeup_call(struct fs_wakeup *wakeup, bool is_urgent);

/* Makes fs_wakeup_wait() return false, at once, from now on. */
void fs_wakeup_end(struct fs_wakeup *wakeup);

/*
 * Waits for a call; then until @next, on the monotonic clock, or until one is
 * urgent.  Returns whether to go on.
 */
bool fs_wakeup_wait(struct fs_wakeup *wakeup, const struct timespec *next,
		    bool *is_urgent);

/* Seconds on a clock that only goes on; from any thread. */
static inline time_t fs_clock_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

#endif
