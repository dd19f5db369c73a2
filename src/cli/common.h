/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * common.h - options and habits that several commands have
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

/* Their part of the text of --help, for commands that make or change frames. */
#define CLI_COMMON_HELP                                                        \
	"      --no-seal         write no checksums\n" CLI_WORK_HELP

/* The same for a command that always writes checksums. */
#define CLI_WORK_HELP                                                          \
	"  -T, --threads=N       work on N threads; 0 (default): all cores\n"  \
	"  -q, --quiet           errors only\n"                                \
	"  -v, --verbose         say what was done\n"                          \
	CLI_JSON_HELP                                                          \
	"      --no-progress     no progress bar\n"                            \
	"  -h, --help            this text\n"

/* The same for commands that write decoded bytes. */
#define CLI_DECODING_HELP                                                      \
	"      --raw             of an array the items alone, in C order\n"    \
	"  -f, --force           overwrite; write to a terminal too\n"         \
	"  -T, --threads=N       decode on N threads; 0 (default): all "       \
	"cores\n"                                                              \
	"      --frame-offset=N  the frame begins at byte N of the file\n"     \
	"  -q, --quiet           errors only\n"                                \
	"  -v, --verbose         say what was written\n"                       \
	"      --no-progress     no progress bar\n"                            \
	"  -h, --help            this text\n"

/*
 * Zero-initialize it but for progress; a command uses what it has options for.
 */
struct cli_common {
	unsigned int nthreads;
	bool progress;
	/* Also what is below directories. */
	bool recursive;
	bool no_seal;
	/* Overwrite; write to a terminal. */
	bool force;
	/* Write only the items of arrays. */
	bool raw;
	/* From which byte of a file on. */
	uint64_t frame_offset;
};

/* Rows for struct cli_common, as in the three texts above. */
extern const struct cli_option cli_common_options[];
extern const struct cli_option cli_common_work_options[];
extern const struct cli_option cli_common_decoding_options[];

/* The row of -q of a command that shows no progress, and its line of help. */
extern const struct cli_option cli_common_quiet[];

#define CLI_QUIET_HELP "  -q, --quiet           errors only\n"

/* The row of -r, and its line of help. */
extern const struct cli_option cli_common_recursive[];

#define CLI_RECURSIVE_HELP                                                     \
	"  -r, --recursive       all frames below each directory\n"

/* The message level becomes B2F_LOG_INFO; there is no field. */
cli_option_fn cli_common_be_verbose;

/*
 * Takes the number of threads from BLOSC_NTHREADS unless it was said.  Returns
 * 0, or -EINVAL after saying that it makes no sense.
 */
B2F_MUST_CHECK
int cli_common_take_environment(struct cli_common *common);

/* False, after saying so, if stdout is a terminal that @common spares. */
bool cli_common_may_print(const struct cli_common *common);

/* The result for one frame. */
struct cli_report {
	/* Name of the command, such as "compress". */
	const char *command;
	const char *source;
	/* The frame; NULL if it is @source. */
	const char *output;
	/* Decoded and stored bytes of the frame, and how long it took. */
	uint64_t nbytes;
	uint64_t cbytes;
	uint64_t elapsed_ms;
};

/* Milliseconds on a clock that only goes on. */
uint64_t cli_common_now_ms(void);

/* Says @report: as cli_message_result(), and with --json as an object. */
void cli_common_report(const struct cli_report *report);

#endif
