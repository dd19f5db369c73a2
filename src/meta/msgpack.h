/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack.h - metalayers as text, cut to one line, as JSON, and
 *             as values of extended attributes
 *
 * The library that decodes them bounds the depth.  What claims to be longer
 * than it is, or is longer than B2F_MSGPACK_MAX, is not given to it, as it may
 * need 24 times as much memory.
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
 * Writes @size bytes at @data to @out as one MessagePack object, if that is
 * what they are to the last byte; long ones end with "...".  Returns false,
 * with nothing written, if they are not.
 */
B2F_MUST_CHECK
bool b2f_msgpack_print(FILE *out, const uint8_t *data, size_t size);

/*
 * The same as a JSON value, whole; NULL if they are not.  What JSON has no form
 * for becomes an object: {"hex": ...} for bytes, {"ext": 5, "hex": ...} for an
 * extension, whose number may stand for a frame or an object of python-blosc2.
 */
json_t *b2f_msgpack_json(const uint8_t *data, size_t size);

/*
 * What a shell script can use of the @size bytes at @data: of a text or of
 * bytes the content, of everything else the JSON text.  *@out is malloc'ed,
 * *@out_size bytes without a 0 at the end.
 *
 * Returns 0, -EBADMSG (they are no MessagePack, or longer than B2F_MSGPACK_MAX)
 * or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_msgpack_plain(const uint8_t *data, size_t size, char **out,
		      size_t *out_size);

#endif
