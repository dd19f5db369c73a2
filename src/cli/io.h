/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io.h - read(2) and write(2) that do all that they are asked for
 *
 * A signal, or a short count, is no end.  They say nothing.
 *
 * Layer: cli.  Threads: any.
 */
#ifndef B2F_CLI_IO_H
#define B2F_CLI_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "b2frame/error.h"

/* Position for "at the file's own offset", which moves. */
#define CLI_IO_NEXT (-1)

/*
 * Reads up to @n bytes of @fd from position @pos on, fewer at the end only.  Returns
 * how many, or a negative errno.
 */
B2F_MUST_CHECK
ssize_t cli_io_read(int fd, void *buf, size_t n, int64_t pos);

/* Writes all @n bytes of @buf to @fd at @pos.  Returns 0 or a negative errno. */
B2F_MUST_CHECK
int cli_io_write(int fd, const void *buf, size_t n, int64_t pos);

#endif
