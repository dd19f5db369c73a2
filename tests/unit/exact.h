/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exact.h - buffers of exactly the size asked for, and numbers that repeat
 *
 * A buffer from malloc() has the guards of the address sanitizer at both ends,
 * so a test that looks for overruns must not take a larger one.
 */
#ifndef B2F_TESTS_UNIT_EXACT_H
#define B2F_TESTS_UNIT_EXACT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/own.h"

/*
 * A buffer of @size bytes, all @fill; for a size of 0 no byte of it may be
 * used.
 */
static inline uint8_t *exact_new(size_t size, uint8_t fill)
{
	uint8_t *p = malloc(size ? size : 1);

	if (!p)
		abort();
	memset(p, fill, size);
	return p;
}

static inline uint8_t *exact_copy(const void *data, size_t size)
{
	uint8_t *p = exact_new(size, 0);

	memcpy(p, data, size);
	return p;
}

/* The next number of the sequence @state, which starts with any number. */
static inline uint32_t exact_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*state >> 32);
}

static inline uint8_t *exact_noise(size_t size, uint64_t seed)
{
	uint8_t *p = exact_new(size, 0);

	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)exact_random(&seed);
	return p;
}

#endif
