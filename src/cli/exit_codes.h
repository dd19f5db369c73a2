/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exit_codes.h - the exit status of bloscctl
 *
 * Scripts depend on these numbers: none ever gets another meaning. The manual
 * page lists them too.
 *
 * Layer: cli.
 */
#ifndef B2F_CLI_EXIT_CODES_H
#define B2F_CLI_EXIT_CODES_H

enum cli_exit {
	/* Everything was done; verify: every frame is sound. */
	CLI_EXIT_OK = 0,
	/* Something failed; the cause is on stderr. */
	CLI_EXIT_FAILURE = 1,
	/* The command line is wrong; nothing was done. */
	CLI_EXIT_USAGE = 2,
	/* verify: bytes are wrong or missing, whatever else happened. */
	CLI_EXIT_DAMAGED = 1,
	/* verify: no damage seen, but something could not be checked. */
	CLI_EXIT_UNCHECKED = 2,
};

/* Option parsers return this to let the command run; not an exit code. */
#define CLI_CONTINUE (-1)

#endif
