/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value.h - words of the command line into values
 *
 * All return 0, or -EINVAL and leave *@out alone; but fs_value_text() -ENOMEM.
 *
 * Layer: fuse.  Threads: pure functions.
 */
#ifndef B2F_FUSE_VALUE_H
#define B2F_FUSE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "b2frame/frame.h"

/* A copy in *@out, which is NULL or malloc'ed and freed then. */
B2F_MUST_CHECK
int fs_value_text(const char *text, char **out);

/*
 * A size up to 63 bits: digits, and one of k m g t or KiB MiB GiB TiB (powers
 * of 1024, in either case) or nothing.
 */
B2F_MUST_CHECK
int fs_value_size(const char *text, int64_t *out);

/* Digits of base @base, up to @max. */
B2F_MUST_CHECK
int fs_value_number(const char *text, int base, uint64_t max, int64_t *out);

/* Decimal, up to a year; s, m or h may follow. */
B2F_MUST_CHECK
int fs_value_seconds(const char *text, double *out);

/* The same without a fraction. */
B2F_MUST_CHECK
int fs_value_whole_seconds(const char *text, int64_t *out);

/* A number, or the name of a user or group of this machine. */
B2F_MUST_CHECK
int fs_value_user(const char *text, int64_t *out);
B2F_MUST_CHECK
int fs_value_group(const char *text, int64_t *out);

/* The position of @text in @words, which end with NULL. */
B2F_MUST_CHECK
int fs_value_choice(const char *text, const char *const *words, int64_t *out);

/* A codec that can encode, in either case; its code in the format. */
B2F_MUST_CHECK
int fs_value_codec(const char *text, int64_t *out);

/*
 * Lossless filters, in either case with + between them, in the order in which
 * they are applied; into the last slots of a frame.
 */
B2F_MUST_CHECK
int fs_value_filters(const char *text, uint8_t slots[B2F_SLOTS]);

#endif
