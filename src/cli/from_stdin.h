/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * from_stdin.h - a frame on standard input
 *
 * Reading a frame needs random access, so the bytes of a pipe are copied to an
 * unnamed file in $TMPDIR or /tmp.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_FROM_STDIN_H
#define B2F_CLI_FROM_STDIN_H

#include "b2frame/b2frame.h"

/*
 * Opens the contiguous frame on standard input, once, with @options.  Errors:
 * b2f_frame_open()'s, and errnos of the unnamed file; prints all.
 */
B2F_MUST_CHECK
int cli_from_stdin_open(const struct b2f_frame_options *options,
			struct b2f_frame **out);

#endif
