/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * escape.h - escapes foreign bytes for terminals and JSON
 *
 * Layer: meta, below both programs.  Threads: any; one stream belongs to one
 * thread.
 */
#ifndef B2F_META_ESCAPE_H
#define B2F_META_ESCAPE_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Writes @len bytes at @text to @out, with control characters and bytes that
 * are no UTF-8 as \xNN.
 */
void b2f_escape_put(FILE *out, const char *text, size_t len);

/*
 * Returns the @len bytes at @text as a JSON string: unchanged if they are
 * UTF-8, else escaped as above.  NULL: no memory.
 */
json_t *b2f_escape_json(const char *text, size_t len);

#endif
