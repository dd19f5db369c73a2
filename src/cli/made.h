/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * made.h - what this run has made, or reads, and so does not overwrite
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_MADE_H
#define B2F_CLI_MADE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "b2frame/error.h"

/* Notes what @name in @dirfd is, which is about to get its own name.  Or an errno. */
B2F_MUST_CHECK
int cli_made_note(int dirfd, const char *name);

/* Notes the operand @path, a path, in the same way; nothing if it is not there. */
void cli_made_note_operand(const char *path);

bool cli_made_has(const struct stat *st);

#endif
