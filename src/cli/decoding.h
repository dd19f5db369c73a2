/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoding.h - options that all commands which write decoded bytes have
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_DECODING_H
#define B2F_CLI_DECODING_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	CLI_DECODING_RAW = 2048,
	CLI_DECODING_FRAME_OFFSET,
	CLI_DECODING_NO_PROGRESS,
};

/* For getopt_long(); without what a command must add itself. */
#define CLI_DECODING_SHORT "fT:qvh"
#define CLI_DECODING_LONG                                                      \
	{"raw", no_argument, NULL, CLI_DECODING_RAW},                          \
		{"force", no_argument, NULL, 'f'},                             \
		{"threads", required_argument, NULL, 'T'},                     \
		{"frame-offset", required_argument, NULL,                      \
		 CLI_DECODING_FRAME_OFFSET},                                   \
		{"quiet", no_argument, NULL, 'q'},                             \
		{"verbose", no_argument, NULL, 'v'},                           \
		{"no-progress", no_argument, NULL, CLI_DECODING_NO_PROGRESS},  \
	{                                                                      \
		"help", no_argument, NULL, 'h'                                 \
	}

/* Their part of the text of --help. */
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

struct cli_decoding {
	uint64_t frame_offset;
	unsigned int nthreads;
	/* Of arrays the items alone. */
	bool raw;
	bool force;
	bool progress;
};

/*
 * Takes option @opt with the value @arg.  Returns 0, or -EINVAL if it is none
 * of those above, or after saying what is wrong with its value.
 */
__attribute__((warn_unused_result)) int
cli_decoding_option(struct cli_decoding *decoding, int opt, const char *arg);

#endif
