/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aligned.h - buffers that begin on a cache line
 *
 * Not aligned_alloc(3): up to glibc 2.37 it splits a larger free block and
 * leaves pieces which the next call of the same size cannot use, so a steady
 * stream of blocks of some megabytes lets the heap grow to a multiple of the
 * used bytes.
 *
 * Layer: base.  Threads: any.
 */
#ifndef B2F_BASE_ALIGNED_H
#define B2F_BASE_ALIGNED_H

#include <stdint.h>
#include <stdlib.h>

#include "base/attr.h"

/* A cache line, so that no vector load of a filter crosses one. */
#define B2F_ALIGN 64

/*
 * Returns @size bytes of garbage, for b2f_aligned_free() (never for free(3)),
 * or NULL.
 */
B2F_MUST_CHECK
static inline uint8_t *b2f_aligned_new(size_t size)
{
	uint8_t *raw, *data;
	uint8_t shift;

	if (size > PTRDIFF_MAX - B2F_ALIGN)
		return NULL;
	raw = malloc(size + B2F_ALIGN);
	if (!raw)
		return NULL;
	/* 1 to B2F_ALIGN: there is always a byte before to note it. */
	shift = (uint8_t)(B2F_ALIGN - (uintptr_t)raw % B2F_ALIGN);
	data = raw + shift;
	data[-1] = shift;
	return data;
}

/* NULL does nothing. */
static inline void b2f_aligned_free(uint8_t *data)
{
	if (data)
		free(data - data[-1]);
}

#endif
