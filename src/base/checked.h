/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checked.h - arithmetic on sizes that come from disk
 *
 * The functions with @out return true if the exact result fits, and only then
 * write it: `if (!b2f_mul_u64(a, b, &n)) return ...`.
 *
 * Layer: base.  Threads: pure functions.
 */
#ifndef B2F_BASE_CHECKED_H
#define B2F_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/attr.h"

B2F_MUST_CHECK
static inline bool b2f_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	uint64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*out = sum;
	return true;
}

B2F_MUST_CHECK
static inline bool b2f_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	uint64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return false;
	*out = product;
	return true;
}

/* a / b rounded up; @b must not be 0.  Cannot overflow. */
static inline uint64_t b2f_div_up_u64(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* True if [off, off + size) lies inside [0, limit). */
static inline bool b2f_range_fits(uint64_t off, uint64_t size, uint64_t limit)
{
	return off <= limit && size <= limit - off;
}

static inline uint64_t b2f_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t b2f_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
