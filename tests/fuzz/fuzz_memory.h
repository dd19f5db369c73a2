/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_memory.h - buffers of exactly the right size, for the sanitizer
 *
 * Free them with free().  Without memory the fuzzer ends.
 */
#ifndef B2F_TESTS_FUZZ_MEMORY_H
#define B2F_TESTS_FUZZ_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void *need(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		abort();
	return p;
}

static inline uint8_t *copy_of(const uint8_t *data, size_t size)
{
	uint8_t *p = need(size);

	if (size)
		memcpy(p, data, size);
	return p;
}

#endif
