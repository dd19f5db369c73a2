/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repr.h - how Python prints strings and tuples
 *
 * Texts are made in streams of open_memstream(), which keep the first error:
 * the caller asks for it once, at the end.
 *
 * Layer: array.  May include: base/.
 *
 * Threads: one stream belongs to one thread.
 */
#ifndef B2F_ARRAY_REPR_H
#define B2F_ARRAY_REPR_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attr.h"

/* Ends a text.  Returns 0, or -ENOMEM if a part of it is missing. */
B2F_MUST_CHECK
int b2f_repr_end(FILE *out);

/* Prints a tuple of @n numbers: (), (1,), (1, 2). */
void b2f_repr_tuple(FILE *out, const int64_t *values, size_t n);

/*
 * Prints valid UTF-8 as repr() prints a str.  Characters that no Unicode
 * version has given a meaning yet are printed as they are; Python escapes them
 * until it knows them.
 */
void b2f_repr_string(FILE *out, const char *text, size_t len);

#endif
