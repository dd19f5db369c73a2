/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io.h - read(2) and write(2) without short counts, rename(2) without a victim,
 * printed texts, arrays that grow, a clock, a lock and memory that end with
 * their block
 *
 * The calls go on after a signal or a short count, and print nothing.
 *
 * Layer: for the library and both programs (made by store/).  Threads: any;
 * blocks on I/O, and B2F_HOLD() until it has the lock.
 */
#ifndef B2F_PROGRAMS_IO_H
#define B2F_PROGRAMS_IO_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "b2frame/error.h"
#include "b2frame/log.h"

/* A value of @pos: the file's own offset, which advances. */
#define B2F_IO_NEXT (-1)

/*
 * Reads up to @n bytes of @fd at @pos, fewer only at the end.  Returns how
 * many, or a negative errno.
 */
B2F_MUST_CHECK
ssize_t b2f_io_read(int fd, void *buf, size_t n, int64_t pos);

/*
 * Writes all @n bytes of @buf to @fd at @pos.  Returns 0 or a negative errno.
 */
B2F_MUST_CHECK
int b2f_io_write(int fd, const void *buf, size_t n, int64_t pos);

/*
 * Renames @from in @dir to @to in @other, which must not exist (-EEXIST).
 * Filesystems without RENAME_NOREPLACE need a hard link, or at last a check
 * before.  Returns 0 or a negative errno.
 */
B2F_MUST_CHECK
int b2f_io_rename(int dir, const char *from, int other, const char *to);

/* Like asprintf(3), but returns the text, malloc'ed; NULL: no memory. */
B2F_PRINTF(1, 2)
char *b2f_io_text(const char *fmt, ...);

/*
 * Makes room for @n items of @size bytes in the malloc'ed @items, which have
 * room for *@cap: the room doubles, so that items can be added one by one.
 * Returns the items, perhaps moved, or NULL; then @items are as before.
 */
B2F_MUST_CHECK
static inline void *b2f_grown(void *items, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap ? *cap : 16;
	void *more = items;

	if (n > SIZE_MAX / 2 / size)
		return NULL;
	while (want < n)
		want *= 2;
	if (want != *cap)
		more = realloc(items, want * size);
	if (more)
		*cap = want;
	return more;
}

/* Nanoseconds of CLOCK_MONOTONIC, which no program sets back. */
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

/* Wipes and frees the text *@secret, which is NULL afterwards. */
static inline void b2f_secret_end(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	free(*secret);
	*secret = NULL;
}

#endif
