/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack.h - metalayers as text, cut to one line
 *
 * Layer: cli.  Threads: pure functions, but for the stream they write to.
 */
#ifndef B2F_CLI_MSGPACK_H
#define B2F_CLI_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes @size bytes at @data to @out as one MessagePack object, if that is
 * what they are to the last byte; long ones end with "...".  Returns false,
 * with nothing written, if they are not.
 */
__attribute__((warn_unused_result)) bool
cli_msgpack_print(FILE *out, const uint8_t *data, size_t size);

#endif
