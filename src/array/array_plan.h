/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array_plan.h - how a new array is cut into chunks and blocks
 *
 * Both are slabs of rows: whole in the last dimensions, a part of one, and one
 * item thick in those before.  Therefore the bytes of an array are stored in
 * their order, except for padding, and a program that writes it from start to
 * end writes one chunk after the other.
 *
 *   shape  (1000, 300, 50)    chunk (255, 300, 50)   block (17, 300, 50)
 *   shape  (4, 100000000)     chunk (1, 4194304)     block (1, 262144)
 *
 * for items of 8 bytes, chunks of 32 MiB and blocks of 2 MiB.
 *
 * Layer: array.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_ARRAY_ARRAY_PLAN_H
#define B2F_ARRAY_ARRAY_PLAN_H

#include <stdint.h>

#include "b2frame/array.h"
#include "base/attr.h"

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
