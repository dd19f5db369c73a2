/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * need.h - memory for names, lists and texts, which is there or ends bloscctl
 *
 * No command can do anything useful without it.  Large buffers are malloc'ed by
 * their users, which go on without the one operand.
 *
 * Layer: cli.  Threads: any.
 */
#ifndef B2F_CLI_NEED_H
#define B2F_CLI_NEED_H

#include <stddef.h>

#include "b2frame/log.h"
#include "programs/io.h"

/*
 * Returns @memory.  If it is NULL, prints that memory has run out, and calls
 * exit(3), which removes unfinished results (cleanup.h).
 */
void *cli_need(void *memory);

/* The exit status in that case; CLI_EXIT_FAILURE at the start. */
void cli_need_fail_as(int status);

/* Like strdup(3), strndup(3) and asprintf(3), without a failure. */
char *cli_need_copy(const char *text);
char *cli_need_part(const char *text, size_t n);
B2F_PRINTF(1, 2)
char *cli_need_text(const char *fmt, ...);

/* @items, an array of @n items of @size bytes, with room for one more. */
void *cli_need_room(void *items, size_t n, size_t size);

#endif
