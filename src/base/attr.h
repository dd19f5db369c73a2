/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attr.h - compiler attributes under short names
 *
 * Layer: base.  Threads: -
 */
#ifndef B2F_BASE_ATTR_H
#define B2F_BASE_ATTR_H

/* B2F_MUST_CHECK and B2F_PRINTF, which public headers have too. */
#include "b2frame/error.h"
#include "b2frame/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define B2F_COLD __attribute__((cold))

#define B2F_LIKELY(x)	__builtin_expect(!!(x), 1)
#define B2F_UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline pthread_mutex_t *b2f_hold_begin(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	return lock;
}

static inline void b2f_hold_end(pthread_mutex_t *const *held)
{
	pthread_mutex_unlock(*held);
}

/*
 * Holds the mutex @lock to the end of the block in which this stands: of a
 * function, until its result has been computed.
 */
#define B2F_HOLD(lock)                                                         \
	__attribute__((cleanup(b2f_hold_end), unused))                         \
	pthread_mutex_t *const held = b2f_hold_begin(lock)

/* Of any type; thus a copy. */
static inline void b2f_own_end(void *variable)
{
	void *memory;

	memcpy(&memory, variable, sizeof(memory));
	free(memory);
}

/* Frees the memory that a pointer has at the end of its block. */
#define B2F_OWN __attribute__((cleanup(b2f_own_end)))

#endif
