/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exit_codes.h - what bloscctl's exit status means
 *
 * Scripts depend on these numbers: none is ever reused for something else.
 * The manual page lists them too.
 *
 * Layer: cli.
 */
#ifndef B2F_CLI_EXIT_CODES_H
#define B2F_CLI_EXIT_CODES_H

enum cli_exit {
	/* Everything was done; verify: every frame is sound. */
	CLI_EXIT_OK = 0,
	/* Something failed, the cause is on stderr. */
	CLI_EXIT_FAILURE = 1,
	/* The command line makes no sense; nothing was done. */
	CLI_EXIT_USAGE = 2,
	/* verify: bytes are wrong or missing, whatever else happened. */
	CLI_EXIT_DAMAGED = 1,
	/* verify: no damage seen, but something could not be looked at. */
	CLI_EXIT_UNCHECKED = 2,
};

/* Returned by option parsers if the command shall run; not an exit code. */
#define CLI_CONTINUE (-1)

#endif
