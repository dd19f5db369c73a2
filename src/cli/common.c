/* SPDX-License-Identifier: BSD-3-Clause */
/* common.c - options that several commands have */
#include "cli/common.h"

#include <limits.h>
#include <string.h>

#include "cli/message.h"
#include "programs/io.h"

#define FIELD(name) offsetof(struct cli_common, name)

int cli_common_set_level(const struct cli_option *option, void *field,
			 const char *value)
{
	(void)field;
	(void)value;
	cli_message_set_level(strcmp(option->name, "quiet") == 0
				      ? B2F_LOG_ERROR
				      : B2F_LOG_INFO);
	return 0;
}

static int stop_progress(const struct cli_option *option, void *no_progress,
			 const char *value)
{
	*(bool *)no_progress = true;
	return cli_common_set_level(option, no_progress, value);
}

const struct cli_option cli_common_quiet[] = {
	CLI_OPTION("quiet", 'q', NULL, cli_common_set_level, 0, "errors only"),
	{0},
};

const struct cli_option cli_common_talk_options[] = {
	CLI_OPTION("quiet", 'q', NULL, stop_progress, FIELD(no_progress),
		   "errors only"),
	CLI_OPTION("verbose", 'v', NULL, cli_common_set_level, 0,
		   "say what was done"),
	{.shared = cli_json_option},
	CLI_FLAG("no-progress", 0, no_progress, "no progress bar"),
	{0},
};

const struct cli_option cli_common_recursive[] = {
	CLI_FLAG("recursive", 'r', recursive,
		"all frames below each directory"),
	{0},
};

const struct cli_option cli_common_frame_offset[] = {
	CLI_OPTION("frame-offset", 0, "N", cli_option_size, FIELD(frame_offset),
	 "the frame begins at byte N of the file"),
	{0},
};

const struct cli_option cli_common_removing[] = {
	CLI_OPTION("keep", 'k', NULL, cli_option_clear, FIELD(remove),
	 "keep the frames (default)"),
	CLI_FLAG("rm", 0, remove, "remove each frame once its copy is safe"),
	{0},
};

const struct cli_option cli_common_work_options[] = {
	CLI_OPTION("threads", 'T', "N", cli_option_threads, FIELD(nthreads),
	 "work on N threads; 0 (default): all cores"),
	{.shared = cli_common_talk_options},
	{0},
};

const struct cli_option cli_common_options[] = {
	CLI_FLAG("no-seal", 0, no_seal, "write no checksums"),
	{.shared = cli_common_work_options},
	{0},
};

const struct cli_option cli_common_reading_options[] = {
	CLI_OPTION("threads", 'T', "N", cli_option_threads, FIELD(nthreads),
	 "decode on N threads; 0 (default): all cores"),
	{.shared = cli_common_frame_offset},
	{0},
};

const struct cli_option cli_common_decoding_options[] = {
	CLI_FLAG("raw", 0, raw, "the items of an array alone, in C order"),
	CLI_FLAG("force", 'f', force, "overwrite; write to a terminal too"),
	{.shared = cli_common_reading_options},
	{.shared = cli_common_talk_options},
	{0},
};

int cli_common_take_environment(struct cli_common *common)
{
	const struct cli_option option = {.name = "BLOSC_NTHREADS"};
	const char *value = common->nthreads ? NULL : cli_option_environment(&option);

	return value ? cli_option_threads(&option, &common->nthreads, value)
		     : 0;
}

uint64_t cli_common_now_ms(void)
{
	return b2f_monotonic_ns() / 1000000;
}

int cli_common_left_ms(uint64_t deadline)
{
	uint64_t now = cli_common_now_ms();

	if (deadline == 0)
		return -1;
	if (deadline <= now)
		return 0;
	return deadline - now < INT_MAX ? (int)(deadline - now) : INT_MAX;
}
