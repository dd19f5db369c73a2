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

/*
 * Zero-initialize it but for progress; a command uses what it has options for.
 */
struct cli_common {
	unsigned int nthreads;
	bool progress;
	/* Also files below directories. */
	bool recursive;
	bool no_seal;
	/* Overwrite; write to a terminal. */
	bool force;
	/* Write only the items of arrays. */
	bool raw;
	/* From which byte of a file on. */
	uint64_t frame_offset;
};

/* Rows for struct cli_common: of commands that make or change frames; */
extern const struct cli_option cli_common_options[];
/* the same for a command that always writes checksums, or writes no chunks; */
extern const struct cli_option cli_common_work_options[];
/* of those the ones that say what is said; */
extern const struct cli_option cli_common_talk_options[];
/* of commands that read frames; and of those that write decoded bytes. */
extern const struct cli_option cli_common_reading_options[];
extern const struct cli_option cli_common_decoding_options[];

/* The row of -q of a command that shows no progress, and that of -r. */
extern const struct cli_option cli_common_quiet[];
extern const struct cli_option cli_common_recursive[];

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

/* Milliseconds on a clock that only goes on. */
uint64_t cli_common_now_ms(void);

#endif
