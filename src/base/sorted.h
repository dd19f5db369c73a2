/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sorted.h - sorted rows of 64-bit numbers
 *
 * Layer: base.  Threads: pure functions.
 */
#ifndef B2F_BASE_SORTED_H
#define B2F_BASE_SORTED_H

#include <stdint.h>

/*
 * The order of two numbers, or of structs that begin with one, for qsort(3) and
 * bsearch(3).
 */
static inline int b2f_compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The index of the last of the @n numbers that is at most @x; 0 if none is. */
static inline uint64_t b2f_search_u64(const uint64_t *sorted, uint64_t n,
				      uint64_t x)
{
	uint64_t low = 0, high = n;

	while (high - low > 1) {
		uint64_t mid = low + (high - low) / 2;

		if (sorted[mid] <= x)
			low = mid;
		else
			high = mid;
	}
	return low;
}

#endif
