/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * common.h - options that all commands which make or change frames have
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_COMMON_H
#define B2F_CLI_COMMON_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	CLI_COMMON_NO_PROGRESS = 2048,
	CLI_COMMON_JSON,
	CLI_COMMON_NO_SEAL,
};

/* For getopt_long(); without what a command must add itself: -o, -f and so on.
 */
#define CLI_COMMON_SHORT "T:qvh"
#define CLI_COMMON_LONG                                                        \
	{"threads", required_argument, NULL, 'T'},                             \
		{"quiet", no_argument, NULL, 'q'},                             \
		{"verbose", no_argument, NULL, 'v'},                           \
		{"no-progress", no_argument, NULL, CLI_COMMON_NO_PROGRESS},    \
		{"json", no_argument, NULL, CLI_COMMON_JSON},                  \
		{"no-seal", no_argument, NULL, CLI_COMMON_NO_SEAL},            \
	{                                                                      \
		"help", no_argument, NULL, 'h'                                 \
	}

/* Their part of the text of --help. */
#define CLI_COMMON_HELP                                                        \
	"      --no-seal         write no checksums\n"                         \
	"  -T, --threads=N       work on N threads; 0 (default): all cores\n"  \
	"  -q, --quiet           errors only\n"                                \
	"  -v, --verbose         say what was done\n"                          \
	"      --json            say it as JSON on standard output\n"          \
	"      --no-progress     no progress bar\n"                            \
	"  -h, --help            this text\n"

struct cli_common {
	unsigned int nthreads;
	bool progress;
	bool json;
	bool no_seal;
};

/*
 * Takes option @opt with the value @arg.  Returns 0, or -EINVAL if it is none
 * of those above, or after saying what is wrong with its value.
 */
__attribute__((warn_unused_result)) int
cli_common_option(struct cli_common *common, int opt, const char *arg);

/* What became of one frame. */
struct cli_report {
	/* What was done, "compress". */
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

/*
 * Prints @report: to stderr with -v, to stdout with --json (cli_json_print()).
 */
void cli_common_report(const struct cli_common *common,
		       const struct cli_report *report);

#endif
