/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kind.h - what an operand is: decided here, and nowhere else
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_KIND_H
#define B2F_CLI_KIND_H

#include "b2frame/error.h"

enum cli_kind {
	/* A file or directory, there or not yet. */
	CLI_KIND_PATH,
	/* On a server. */
	CLI_KIND_URL,
	/* A member of a store that is one file (pack_path.h). */
	CLI_KIND_MEMBER,
	/* "-" */
	CLI_KIND_STDIN,
};

/* A file or directory that is called as a URL is has to be written as "./NAME". */
enum cli_kind cli_kind_of(const char *operand);

/*
 * Refuses all but paths, which alone can be changed or removed.  @advice ends
 * the message, for instance "; -o names a copy".  Returns 0 or -EROFS.
 */
B2F_MUST_CHECK
int cli_kind_check_change(const char *operand, enum cli_kind kind,
			  const char *advice);

/* Refuses a URL as a place to write to.  Returns 0 or -EROFS. */
B2F_MUST_CHECK
int cli_kind_check_output(const char *output);

#endif
