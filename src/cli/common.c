/* SPDX-License-Identifier: BSD-3-Clause */
/* common.c - options and habits that several commands have */
#include "cli/common.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/json.h"
#include "cli/message.h"

#define FIELD(name) offsetof(struct cli_common, name)

static int be_quiet(const struct cli_option *option, void *field,
		    const char *value)
{
	(void)option;
	(void)field;
	(void)value;
	cli_message_set_level(B2F_LOG_ERROR);
	return 0;
}

static int stop_progress(const struct cli_option *option, void *progress,
			 const char *value)
{
	be_quiet(option, progress, value);
	return cli_option_clear(option, progress, value);
}

int cli_common_be_verbose(const struct cli_option *option, void *field,
			  const char *value)
{
	(void)option;
	(void)field;
	(void)value;
	cli_message_set_level(B2F_LOG_INFO);
	return 0;
}

const struct cli_option cli_common_quiet[] = {
	{"quiet", 'q', no_argument, be_quiet, 0, NULL},
	{0},
};

static const struct cli_option talk[] = {
	{"threads", 'T', required_argument, cli_option_threads, FIELD(nthreads),
	 NULL},
	{"quiet", 'q', no_argument, stop_progress, FIELD(progress), NULL},
	{"verbose", 'v', no_argument, cli_common_be_verbose, 0, NULL},
	{"no-progress", 0, no_argument, cli_option_clear, FIELD(progress),
	 NULL},
	{0},
};

const struct cli_option cli_common_recursive[] = {
	{"recursive", 'r', no_argument, cli_option_set, FIELD(recursive), NULL},
	{0},
};

const struct cli_option cli_common_work_options[] = {
	{.shared = talk},
	{.shared = cli_json_option},
	{0},
};

const struct cli_option cli_common_options[] = {
	{.shared = cli_common_work_options},
	{"no-seal", 0, no_argument, cli_option_set, FIELD(no_seal), NULL},
	{0},
};

const struct cli_option cli_common_decoding_options[] = {
	{.shared = talk},
	{"raw", 0, no_argument, cli_option_set, FIELD(raw), NULL},
	{"force", 'f', no_argument, cli_option_set, FIELD(force), NULL},
	{"frame-offset", 0, required_argument, cli_option_size,
	 FIELD(frame_offset), NULL},
	{0},
};

int cli_common_take_environment(struct cli_common *common)
{
	const struct cli_option option = {.name = "BLOSC_NTHREADS"};
	const char *value = common->nthreads ? NULL : cli_option_environment(&option);

	return value ? cli_option_threads(&option, &common->nthreads, value)
		     : 0;
}

bool cli_common_may_print(const struct cli_common *common)
{
	if (common->force || !isatty(STDOUT_FILENO))
		return true;
	cli_message_error("standard output is a terminal; -f writes to it");
	return false;
}

uint64_t cli_common_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static json_t *describe(const struct cli_report *r)
{
	const char *output = r->output ? r->output : r->source;

	return json_pack("{s:s, s:o*, s:o*, s:I, s:I, s:o, s:f}", "command",
			 r->command, "source", cli_json_name(r->source),
			 "output", cli_json_name(output), "nbytes",
			 (json_int_t)r->nbytes, "cbytes", (json_int_t)r->cbytes,
			 "ratio", cli_json_ratio(r->nbytes, r->cbytes),
			 "seconds", (double)r->elapsed_ms / 1000);
}

void cli_common_report(const struct cli_report *r)
{
	json_t *object = describe(r);

	/* Where it is, unless it is where it was. */
	json_object_set_new(object, "elsewhere", json_boolean(r->output != NULL));
	cli_message_result("{source}: [{?command=decompress}{cbytes:size} -> "
			   "{nbytes:size}|{nbytes:size} -> {cbytes:size}, "
			   "{ratio:ratio}], {seconds:seconds}"
			   "[{?elsewhere}, {output}]",
			   object);
	json_object_del(object, "elsewhere");
	if (cli_json_wanted())
		cli_json_print(object);
	else
		json_decref(object);
}
