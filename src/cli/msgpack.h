/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack.h - metalayers as text, cut to one line, and as JSON
 *
 * The library that decodes them bounds the depth.  What claims to be longer
 * than it is, or is longer than CLI_MSGPACK_MAX, is not given to it, as it may
 * need 24 times as much memory.
 *
 * Layer: cli.  Threads: pure functions, but for the stream they write to.
 */
#ifndef B2F_CLI_MSGPACK_H
#define B2F_CLI_MSGPACK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "b2frame/error.h"

#define CLI_MSGPACK_MAX ((size_t)4 << 20)

/*
 * Writes @size bytes at @data to @out as one MessagePack object, if that is
 * what they are to the last byte; long ones end with "...".  Returns false,
 * with nothing written, if they are not.
 */
B2F_MUST_CHECK
bool cli_msgpack_print(FILE *out, const uint8_t *data, size_t size);

/*
 * The same as a JSON value, whole; NULL if they are not.  What JSON has no form
 * for becomes an object: {"hex": ...} for bytes, {"ext": 5, "hex": ...} for an
 * extension, whose number may stand for a frame or an object of python-blosc2.
 */
json_t *cli_msgpack_json(const uint8_t *data, size_t size);

#endif
