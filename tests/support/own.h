/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * own.h - pointers of tests that are freed at the end of their block
 *
 *	OWNER(b2f_pool, b2f_pool_free);
 *	...
 *	OWN(b2f_pool_free) struct b2f_pool *pool = pool_new(1);
 *	OWN(free) uint8_t *data = malloc(1000);
 */
#ifndef B2F_TESTS_OWN_H
#define B2F_TESTS_OWN_H

#include <stdlib.h>
#include <string.h>

#define OWNER(type, end)                                                       \
	static inline void own_##end(struct type **p)                          \
	{                                                                      \
		end(*p);                                                       \
	}                                                                      \
	struct type

/* Of a pointer of any type. */
static inline void own_free(void *p)
{
	void *memory;

	memcpy(&memory, p, sizeof(memory));
	free(memory);
}

#define OWN(end) __attribute__((cleanup(own_##end)))

#endif
