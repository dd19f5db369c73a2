/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operands.h - runs a command on each operand, and on the files below it
 *
 * With -r a directory stands for all frames, or for all plain files, below it.
 * With -o DIRECTORY results go there, under their paths below the operand.
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

/* A file or frame to process. */
struct cli_operand {
	/* Name of the command, such as "compress". */
	const char *command;
	struct b2f_runtime *runtime;
	/* Progress of the operation; its label names the source in reports. */
	struct cli_progress *progress;
	/* The file or frame to read, and where a frame begins in its file. */
	struct cli_at at;
	struct b2f_frame_options how;
	/* The user's name for the result; NULL: derive it from @place. */
	const char *output;
	/*
	 * Name of the result before its suffix is changed: @at, or a path in
	 * the directory for results.
	 */
	struct cli_at place;
	/*
	 * For a frame below a directory: its name there, which may be one of
	 * several; otherwise NULL.
	 */
	const char *shown;
};

/* Returns the place of the result @path, named by the user or derived. */
static inline struct cli_at cli_operand_result(const struct cli_operand *operand,
					       const char *path)
{
	return operand->output ? cli_at_path(path)
			       : cli_at_beside(&operand->place, path);
}

/* Do results of @operand go to another directory? */
static inline bool cli_operand_is_moved(const struct cli_operand *operand)
{
	return operand->place.path != operand->at.path;
}

/*
 * Reports that @operand has become the frame @output (NULL: itself) of @nbytes
 * decoded and @cbytes stored bytes: by cli_message_result(), with --json as an
 * object.
 */
void cli_operand_report(const struct cli_operand *operand, const char *output,
			uint64_t nbytes, uint64_t cbytes);

/* Refuses a directory that is no frame, without -r: -EISDIR, and a message. */
B2F_MUST_CHECK
int cli_operands_refuse_tree(const char *path);

/*
 * Calls @command->each for each of @paths (up to a NULL) with the struct
 * @options, which begins with a struct cli_common, and a runtime of its number
 * of threads.  Goes on after an error, except -EPIPE.  With --json an operand
 * that fails is an object with an "error".
 *
 * Returns the exit status.
 */
B2F_MUST_CHECK
int cli_operands_run(const struct cli_command *command, void *options,
		     char **paths);

#endif
