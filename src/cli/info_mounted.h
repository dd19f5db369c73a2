/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_mounted.h - what a file of a mount says about the frame behind it
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_INFO_MOUNTED_H
#define B2F_CLI_INFO_MOUNTED_H

#include "cli/at.h"

#include "b2frame/error.h"

/*
 * The JSON that a mount tells of the frame behind its file @path, malloc'ed;
 * NULL: it is no file of a mount, or a frame itself.
 */
char *cli_info_mounted(const struct cli_at *at);

/* Prints it as text.  Returns 0, or B2F_ECORRUPT after a message. */
B2F_MUST_CHECK
int cli_info_print_mounted(const char *path, const char *text);

#endif
