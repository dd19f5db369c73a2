/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack.h - metalayers as text, cut to one line, as JSON, and
 *             as values of extended attributes
 *
 * JSON takes many times the memory of the data, so data longer than
 * B2F_MSGPACK_MAX, or deeper than 32 levels, are treated as no MessagePack.
 *
 * Layer: meta, below both programs.  Threads: pure functions, but for the
 * stream they write to.
 */
#ifndef B2F_B2F_MSGPACK_H
#define B2F_B2F_MSGPACK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "b2frame/error.h"

#define B2F_MSGPACK_MAX ((size_t)4 << 20)

/*
 * Writes the MessagePack object in the @size bytes at @data to @out; a long
 * object ends with "...".  Returns false, with nothing written, if the bytes
 * are not exactly one object.
 */
B2F_MUST_CHECK
bool b2f_msgpack_print(FILE *out, const uint8_t *data, size_t size);

/*
 * Returns all of the data as a JSON value; NULL if they are not MessagePack.
 * Values that JSON does not have become an object: {"hex": ...} for bytes,
 * {"ext": 5, "hex": ...} for an extension, whose number may stand for a frame
 * or an object of python-blosc2.
 */
json_t *b2f_msgpack_json(const uint8_t *data, size_t size);

/*
 * Converts the @size bytes at @data for a shell script: a text or bytes to
 * their content, everything else to JSON.  *@out is malloc'ed, *@out_size bytes
 * without a 0 at the end.
 *
 * Returns 0, -EBADMSG (they are no MessagePack, or longer than B2F_MSGPACK_MAX)
 * or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_msgpack_plain(const uint8_t *data, size_t size, char **out,
		      size_t *out_size);

#endif
