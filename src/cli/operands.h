/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operands.h - a command on each operand, and on the files below it
 *
 * With -r a directory stands for all frames below it, or for all plain files.
 * With -o DIRECTORY results are put there, under the paths that they have below
 * the operand.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_OPERANDS_H
#define B2F_CLI_OPERANDS_H

#include <stdbool.h>

#include "b2frame/runtime.h"
#include "cli/at.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/progress.h"

/* A file or frame to work on. */
struct cli_operand {
	/* Name of the command, such as "compress". */
	const char *command;
	struct b2f_runtime *runtime;
	/* Of all that is done with it; its label is what reports call the source. */
	struct cli_progress *progress;
	/* The file or frame to read. */
	struct cli_at at;
	/* The user's name for the result; NULL: it follows from @place. */
	const char *output;
	/*
	 * The name of the result before its suffix is changed: @at itself, or
	 * its path in the directory of the results.
	 */
	struct cli_at place;
	/*
	 * Below a directory: its name in that, while it may lie at the home of a frame
	 * with several names.  Else NULL.
	 */
	const char *shown;
};

/* Where the result is that is called @path: by the user, or by ourselves. */
static inline struct cli_at cli_operand_result(const struct cli_operand *operand,
					       const char *path)
{
	return operand->output ? cli_at_path(path)
			       : cli_at_beside(&operand->place, path);
}

/* Do results of @operand go to a directory of their own? */
static inline bool cli_operand_is_moved(const struct cli_operand *operand)
{
	return operand->place.path != operand->at.path;
}

/*
 * Says what became of @operand, the frame @output (NULL: itself) of @nbytes decoded and
 * @cbytes stored bytes: as cli_message_result(), and with --json as an object.
 */
void cli_operand_report(const struct cli_operand *operand, const char *output,
			uint64_t nbytes, uint64_t cbytes);

/* Returns 0 or an errno, after saying why. */
typedef int cli_operand_fn(const void *arg, const struct cli_operand *operand);

struct cli_operands {
	const struct cli_command *command;
	const struct cli_common *common;
	/* The value of -o: a name, or a directory; may be NULL. */
	const char *output;
	/* Below directories: the plain files; else the frames; or both. */
	bool files;
	bool all;
	/* With -r, too, @output is what becomes of the operand itself. */
	bool exact;
	/* @output may be a URL. */
	bool to_url;
	/*
	 * Each operand is changed, or removed, so that it has to be a path: the
	 * advice for others, as cli_kind_check_change() has it.  NULL: it is not.
	 */
	const char *changes;
	/* It goes: each of several names by itself, and the frame with the last. */
	bool removes;
	/* A store that is one file is a directory, too. */
	bool stores;
	/* --json prints an array, however many there are. */
	bool array;
	cli_operand_fn *run;
	const void *arg;
};

/*
 * Calls @o->run for each of @paths (up to a NULL) with a runtime of as many
 * threads as @o->common says.  Goes on after an error, but for -EPIPE: nothing
 * reads any more.  With --json an operand that fails is an object as well, with
 * an "error".
 *
 * Returns the exit status.
 */
B2F_MUST_CHECK
int cli_operands_run(const struct cli_operands *o, char **paths);

#endif
