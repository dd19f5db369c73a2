/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * made.h - the files that this run has made or reads, and must not overwrite
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_MADE_H
#define B2F_CLI_MADE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "b2frame/error.h"

/* Notes @name in @dirfd before it gets its final name. 0 or an errno. */
B2F_MUST_CHECK
int cli_made_note(int dirfd, const char *name);

/* Notes the operand @path, if it exists. */
void cli_made_note_operand(const char *path);

bool cli_made_has(const struct stat *st);

#endif
