/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array_write.h - the b2nd metalayer as bytes
 *
 * Layer: array.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_ARRAY_ARRAY_WRITE_H
#define B2F_ARRAY_ARRAY_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "b2frame/array.h"
#include "base/attr.h"

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

#endif
