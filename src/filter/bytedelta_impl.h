/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytedelta_impl.h - the running sum of bytedelta, with and without SIMD
 *
 * Private to src/filter and its tests.
 *
 * Layer: filter.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_FILTER_BYTEDELTA_IMPL_H
#define B2F_FILTER_BYTEDELTA_IMPL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Replaces each of the @n bytes at @data by the sum, modulo 256, of it and all
 * before it.
 */
void b2f_bytedelta_sum(uint8_t *data, size_t n);

/* The same sum, byte by byte. */
void b2f_bytedelta_sum_scalar(uint8_t *data, size_t n);

#endif
