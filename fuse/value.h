/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value.h - words of the command line into numbers
 *
 * All return 0, or -EINVAL and leave *@out alone.
 *
 * Layer: fuse.  Threads: pure functions.
 */
#ifndef B2F_FUSE_VALUE_H
#define B2F_FUSE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "b2frame/frame.h"

/*
 * A size up to 63 bits: digits, and one of k m g t (powers of 1024; also upper
 * case) or nothing.
 */
B2F_MUST_CHECK
int fs_value_size(const char *text, int64_t *out);

/* Digits of base @base, up to @max. */
B2F_MUST_CHECK
int fs_value_number(const char *text, int base, uint64_t max, int64_t *out);

/* Decimal, up to a year. */
B2F_MUST_CHECK
int fs_value_seconds(const char *text, double *out);

/* The position of @text in @words, which end with NULL. */
B2F_MUST_CHECK
int fs_value_choice(const char *text, const char *const *words, int64_t *out);

/* A codec that can encode; its code in the format. */
B2F_MUST_CHECK
int fs_value_codec(const char *text, int64_t *out);

/*
 * Lossless filters, with + between them, in the order in which they are
 * applied; into the last slots of a frame.
 */
B2F_MUST_CHECK
int fs_value_filters(const char *text, uint8_t slots[B2F_SLOTS]);

#endif
