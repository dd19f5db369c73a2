/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * b2nd.h - the b2nd metalayer, and the plan of a new array
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

/*
 * Makes the content of a b2nd metalayer that b2f_array_parse() and C-Blosc2
 * read as @array; its length depends on ndim and the dtype alone.  An array
 * without a dtype gets a metalayer without one.  The caller frees *@raw.
 *
 * Returns 0, -EINVAL (more dimensions than there can be), B2F_ETOOBIG (a dtype
 * of 4 GiB) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_array_write(const struct b2f_array *array, uint8_t **raw, size_t *size);

/*
 * Fills @out for a new array of @ndim dimensions @shape and items of @itemsize
 * bytes, with chunks of about @chunk_bytes (more than 1 GiB counts as that)
 * and blocks of about @block_bytes, neither smaller than an item.  A chunk is
 * not larger than the array, up to the padding of its blocks; a dimension of
 * size 0 counts as 1 for chunks and blocks, so that C-Blosc2 can make the
 * array larger later (chunks of 0, as python-blosc2 makes them, can not).
 * @out->dtype is NULL.
 *
 * Returns 0, -EINVAL (too many dimensions, a negative size, items or chunks or
 * blocks of 0 bytes) or B2F_ETOOBIG (items, chunks or the array are more than
 * the format can hold).
 */
B2F_MUST_CHECK
int b2f_array_plan(unsigned int ndim, const int64_t *shape, uint32_t itemsize,
		   uint64_t chunk_bytes, uint64_t block_bytes,
		   struct b2f_array *out);

#endif
