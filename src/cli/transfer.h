/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transfer.h - copies a frame as stored, or a plain file
 *
 * Source and destination are paths or URLs.  A second transfer of the same goes
 * on where the first one was interrupted, and leaves complete copies alone.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_TRANSFER_H
#define B2F_CLI_TRANSFER_H

#include "b2frame/b2frame.h"
#include "cli/common.h"
#include "cli/operands.h"

struct cli_transfer {
	struct cli_common common;
	/*
	 * All outputs that are URLs are below @top, whose remote is @remote;
	 * NULL: no output is a URL.
	 */
	char *top;
	struct b2f_remote *remote;
};

/* Sets @t->top for @output.  Returns 0 or an errno. */
B2F_MUST_CHECK
int cli_transfer_begin(struct cli_transfer *t, const char *output);
void cli_transfer_end(struct cli_transfer *t);

/* A cli_operand_fn whose argument is a struct cli_transfer. */
B2F_MUST_CHECK
int cli_transfer_run(void *transfer, const struct cli_operand *operand);

#endif
