/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sum.h - the checksums of Bloscpack files
 *
 * A const table, indexed by the number in the file's header: adler32 and crc32
 * come from zlib (stored little endian), the others from nettle.
 *
 * Layer: blp.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_BLP_SUM_H
#define B2F_BLP_SUM_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/why.h"

/* Bytes of the longest sum. */
#define B2F_SUM_SIZE_MAX 64

struct nettle_hash;

struct b2f_sum {
	/* Bloscpack's name; "none" for number 0. */
	const char *name;
	/* Bytes; 0: there is no sum. */
	uint32_t size;
	/* Private to sum.c. */
	void (*make)(const struct b2f_sum *sum, const void *data, size_t n,
		     uint8_t *out);
	const struct nettle_hash *digest;
};

/* Sum @number, or NULL if there is none of that number. */
const struct b2f_sum *b2f_sum_by_number(unsigned int number);

/* The sum called @name, or NULL. */
const struct b2f_sum *b2f_sum_by_name(const char *name);

/* Its number. */
uint8_t b2f_sum_number(const struct b2f_sum *sum);

/* Puts the sum of the @n bytes at @data, @sum->size bytes, into @out. */
void b2f_sum_make(const struct b2f_sum *sum, const void *data, size_t n,
		  uint8_t *out);

/*
 * Compares the sum of the @n bytes at @data with @expected.  Returns 0 or
 * B2F_ECORRUPT (they differ).
 */
B2F_MUST_CHECK
int b2f_sum_check(const struct b2f_sum *sum, const void *data, size_t n,
		  const uint8_t *expected, struct b2f_why *why);

#endif
