/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * b2nd.h - the b2nd metalayer
 *
 * Layer: array.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_ARRAY_B2ND_H
#define B2F_ARRAY_B2ND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/array.h"
#include "b2frame/error.h"
#include "base/attr.h"
#include "base/why.h"

/* Bytes of one chunk, padding included, have to fit an int32. */
#define B2F_ARRAY_MAX_CHUNK ((uint64_t)INT32_MAX - 32)

/*
 * Parses the content of a b2nd (or caterva) metalayer, @size bytes at @raw, of
 * a frame whose items have @itemsize bytes.  Checks that all products fit, so
 * that later arithmetic cannot overflow.  Free @out with b2f_array_fini().
 *
 * Returns 0, B2F_ECORRUPT or -ENOMEM, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_array_parse(const uint8_t *raw, size_t size, uint32_t itemsize,
		    struct b2f_array *out, struct b2f_why *why);

/*
 * Fills in the products of @array, whose dimensions are set and not negative:
 * nitems, block_items, chunk_items, nchunks.  False if one of them, or the
 * bytes they mean, is too large; they are undefined then.
 */
B2F_MUST_CHECK
bool b2f_array_multiply(struct b2f_array *array);

void b2f_array_fini(struct b2f_array *array);

#endif
