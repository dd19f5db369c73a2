/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_frame.h - repairs one frame
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_REPAIR_FRAME_H
#define B2F_CLI_REPAIR_FRAME_H

#include "b2frame/b2frame.h"
#include "cli/common.h"
#include "cli/operands.h"

struct cli_repair {
	struct cli_common common;
	/* Change nothing. */
	bool dry_run;
	/* Remove recent orphans, too. */
	bool force;
	/* Replace damaged chunks by zeros. */
	bool zero_damaged;
	/*
	 * For frames in object stores: remove orphans older than this (NULL:
	 * "1d").
	 */
	bool orphans;
	bool recursive;
	const char *older;
	/* Path of a new frame to make if the index is lost; or NULL. */
	const char *output;
	/* Replace an existing file. */
	bool overwrite;
};

/*
 * Repairs a frame by the struct cli_repair @how; prints the repairs on stdout.
 * Returns 0 if the frame is sound now (or would be), else an errno after
 * printing it.
 */
B2F_MUST_CHECK
int cli_repair_frame(const void *how, const struct cli_operand *operand);

#endif
