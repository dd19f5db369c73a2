/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack_value.h - shared by the files msgpack*.c
 *
 * Layer: meta, below both programs.  Threads: pure functions, but for the
 * stream they write to.
 */
#ifndef B2F_META_MSGPACK_VALUE_H
#define B2F_META_MSGPACK_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "b2frame/error.h"
#include "base/unpack.h"

/*
 * Extensions of python-blosc2: a whole frame, and a map with kind and version.
 */
#define B2F_MSGPACK_FRAME  42
#define B2F_MSGPACK_OBJECT 43

/*
 * True if the @size bytes at @data are one value, neither too long nor too
 * deep; the other functions take only bytes that were checked.  *@has_ext: it
 * has an extension, at any depth.
 */
B2F_MUST_CHECK
bool b2f_msgpack_value_check(const uint8_t *data, size_t size, bool *has_ext);

/* Writes the next value, cut to one line, to @out, and goes past it. */
void b2f_msgpack_value_put(FILE *out, struct b2f_cursor *cur);

#endif
