/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype_scalar.h - the text of a type that has no fields: "<f8"
 *
 * Layer: array.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_ARRAY_DTYPE_SCALAR_H
#define B2F_ARRAY_DTYPE_SCALAR_H

#include "array/dtype.h"

/*
 * Reads a text like "<f8": a descr without its quotes, or a b2nd text.
 *
 * Returns 0, B2F_ECORRUPT or B2F_EUNSUPPORTED.
 */
B2F_MUST_CHECK
int b2f_dtype_read_scalar(const char *text, size_t len, struct b2f_dtype *out);

/* Prints a SCALAR without quotes; @brief as inside the brackets above. */
void b2f_dtype_put_scalar(const struct b2f_dtype *type, bool brief, FILE *out);

#endif
