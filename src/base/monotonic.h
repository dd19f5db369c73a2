/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * monotonic.h - time that no program sets back
 *
 * Layer: base.  Threads: any.
 */
#ifndef B2F_BASE_MONOTONIC_H
#define B2F_BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t b2f_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
}

/* @ms milliseconds from now, for waits by that clock. */
static inline struct timespec b2f_monotonic_in_ms(uint64_t ms)
{
	uint64_t ns = b2f_monotonic_ns() + ms * UINT64_C(1000000);

	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000)};
}

#endif
