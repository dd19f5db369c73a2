/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * utf8.h - Unicode characters as bytes
 *
 * Layer: base.  Threads: pure functions.
 */
#ifndef B2F_BASE_UTF8_H
#define B2F_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* Bytes of the longest character. */
#define B2F_UTF8_MAX 4

/*
 * Takes the character at *@pos (< @len) and moves *@pos behind it.  Like
 * Python's strict decoder it refuses surrogates, overlong forms and cut
 * characters.
 */
B2F_MUST_CHECK
bool b2f_utf8_next(const char *text, size_t len, size_t *pos, uint32_t *out);

/*
 * Writes a character, which must not be a surrogate nor beyond U+10FFFF; @out
 * has room for B2F_UTF8_MAX.  Returns the number of bytes.
 */
size_t b2f_utf8_put(uint32_t character, char *out);

#endif
