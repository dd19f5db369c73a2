/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * from_stdin.h - a frame that comes through standard input
 *
 * A frame is read from its end and at many places, so one that comes through a
 * pipe is kept in a file without a name, in $TMPDIR or /tmp.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_FROM_STDIN_H
#define B2F_CLI_FROM_STDIN_H

#include "b2frame/b2frame.h"

/*
 * Opens the contiguous frame on standard input, once, as b2f_frame_open() does
 * with @options.  Errors: b2f_frame_open()'s, and errnos of the file that keeps
 * it; all are said.
 */
B2F_MUST_CHECK
int cli_from_stdin_open(const struct b2f_frame_options *options,
			struct b2f_frame **out);

#endif
