/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * escape.h - escapes foreign bytes for terminals and JSON
 *
 * Layer: meta, below both programs.  Threads: pure functions, but for the stream
 * they write to.
 */
#ifndef B2F_META_ESCAPE_H
#define B2F_META_ESCAPE_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Writes @len bytes at @text to @out, which control characters and whatever is
 * no UTF-8 leave as \xNN.
 */
void b2f_escape_put(FILE *out, const char *text, size_t len);

/*
 * The @len bytes at @text as a JSON string: as they are if they are UTF-8, else
 * as above.  NULL: no memory.
 */
json_t *b2f_escape_json(const char *text, size_t len);

#endif
