/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * common.h - options that several commands have
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_COMMON_H
#define B2F_CLI_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "b2frame/b2frame.h"
#include "cli/json.h"
#include "cli/options.h"

/*
 * The first member of the options of a command, which uses the fields that it
 * has options for.
 */
struct cli_common {
	unsigned int nthreads;
	bool no_progress;
	/* Process files below directories, too. */
	bool recursive;
	bool no_seal;
	/* Overwrite; write to a terminal. */
	bool force;
	/* Write only the items of arrays. */
	bool raw;
	/* Remove the source once the result is safe. */
	bool remove;
	/* Start of the frame in its file, bytes. */
	uint64_t frame_offset;
	/* The value of -o: the result, or a directory for results; or NULL. */
	const char *output;
	/*
	 * How cli_operands_run() takes operands.  Below directories it takes
	 * plain files; else frames; or both.
	 */
	bool files;
	bool all;
	/* Even with -r, @output names the result of the operand itself. */
	bool exact;
	/* @output may be a URL. */
	bool to_url;
	/* An operand may have several results. */
	bool several;
	/* Treat a store that is one file as a directory. */
	bool stores;
	/* The result goes to standard output: to a terminal only with -f. */
	bool to_stdout;
	/*
	 * Operands are changed or removed, so they have to be paths: the advice
	 * of cli_at_check_change() for others.  NULL: they are not changed.
	 */
	const char *changes;
};

/* Rows for struct cli_common: for commands that make or change frames; */
extern const struct cli_option cli_common_options[];
/* for commands that always write checksums, or write no chunks; */
extern const struct cli_option cli_common_work_options[];
/* only the options about messages; */
extern const struct cli_option cli_common_talk_options[];
/* for commands that read frames; and for those that write decoded bytes. */
extern const struct cli_option cli_common_reading_options[];
extern const struct cli_option cli_common_decoding_options[];

/* The row of -q for a command that shows no progress; and single rows. */
extern const struct cli_option cli_common_quiet[];
extern const struct cli_option cli_common_recursive[];
extern const struct cli_option cli_common_frame_offset[];
/* The rows of -k and --rm for frames. */
extern const struct cli_option cli_common_removing[];

/* Sets the message level that --quiet or --verbose says; uses no field. */
cli_option_fn cli_common_set_level;

/*
 * Takes the number of threads from BLOSC_NTHREADS unless it was given.  Returns
 * 0, or -EINVAL after a message.
 */
B2F_MUST_CHECK
int cli_common_take_environment(struct cli_common *common);

/* Milliseconds of a monotonic clock. */
uint64_t cli_common_now_ms(void);

/* Milliseconds to the @deadline by that clock, for poll(2); 0: no limit, -1. */
int cli_common_left_ms(uint64_t deadline);

#endif
