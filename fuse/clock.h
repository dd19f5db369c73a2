/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h - seconds on a clock that only goes on
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_CLOCK_H
#define B2F_FUSE_CLOCK_H

#include <time.h>

static inline time_t fs_clock_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

#endif
