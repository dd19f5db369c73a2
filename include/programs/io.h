/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io.h - read(2) and write(2) without short counts
 *
 * They go on after a signal or a short count, and print nothing.
 *
 * Layer: cli.  Threads: any.
 */
#ifndef B2F_CLI_IO_H
#define B2F_CLI_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "b2frame/error.h"

/* A value of @pos: the file's own offset, which advances. */
#define CLI_IO_NEXT (-1)

/*
 * Reads up to @n bytes of @fd at @pos, fewer only at the end.  Returns how
 * many, or a negative errno.
 */
B2F_MUST_CHECK
ssize_t cli_io_read(int fd, void *buf, size_t n, int64_t pos);

/*
 * Writes all @n bytes of @buf to @fd at @pos.  Returns 0 or a negative errno.
 */
B2F_MUST_CHECK
int cli_io_write(int fd, const void *buf, size_t n, int64_t pos);

#endif
