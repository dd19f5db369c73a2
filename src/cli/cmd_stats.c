/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_stats.c - bloscctl stats: what a mount has done so far */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/mounts.h"
#include "cli/operands.h"
#include "cli/show.h"

static const char help[] =
	"Usage: bloscctl stats [OPTION...] MOUNTPOINT...\n"
	"Shows what the bloscfs at each MOUNTPOINT has done since it began: "
	"requests,\nbytes, hits of its cache, what its codecs did and in what "
	"time, and its memory.\n\n"
	CLI_JSON_HELP
	"  -h, --help            this text\n";

static const struct cli_option table[] = {
	{.shared = cli_json_option},
	{0},
};

/* Seconds are those of all threads together. */
static const char text[] =
	"{}\n"
	"  reads     {reads} requests, {read_bytes:size}\n"
	"  writes    {writes} requests, {written_bytes:size}\n"
	"  names     {lookups} lookups, {opens} opens, {errors} errors\n"
	"  cache     {cached_bytes:size} in {cached_blocks} blocks, "
	"{hit_percent} % of {blocks_asked} found there\n";

static const char codec_text[] =
	"  {name,-9}"
	"[ decoded {+decoded_bytes:size} in {decode_seconds:seconds} "
	"({decode_speed:size}/s per thread);]"
	"[ encoded {+encoded_bytes:size} in {encode_seconds:seconds} "
	"({encode_speed:size}/s per thread); ratio {ratio:ratio}]\n";

static const char memory_text[] =
	"  memory    {memory_bytes:size}, {dirty_bytes:size} of it written and "
	"not encoded yet\n";

static uint64_t number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* Adds bytes per second, unless it took no time. */
static void add_speed(json_t *codec, const char *key, const char *nbytes,
		      const char *seconds)
{
	double s = json_number_value(json_object_get(codec, seconds));
	uint64_t n = number(codec, nbytes);

	json_object_set_new(codec, key,
			    json_integer((json_int_t)(s > 0 ? (double)n / s
							    : (double)n)));
}

/* What follows from the counters of the daemon. */
static void add_rates(json_t *stats)
{
	uint64_t hits = number(stats, "hits");
	uint64_t all = hits + number(stats, "misses");
	const char *name;
	json_t *codec;

	json_object_set_new(stats, "blocks_asked", json_integer((json_int_t)all));
	json_object_set_new(
		stats, "hit_percent",
		json_integer((json_int_t)(all ? hits * 100 / all : 0)));
	json_object_foreach(json_object_get(stats, "codecs"), name, codec)
	{
		add_speed(codec, "decode_speed", "decoded_bytes",
			  "decode_seconds");
		add_speed(codec, "encode_speed", "encoded_bytes",
			  "encode_seconds");
		json_object_set_new(codec, "ratio",
				    cli_json_ratio(number(codec, "encoded_bytes"),
						   number(codec, "stored_bytes")));
	}
}

static void print_text(const char *path, json_t *stats)
{
	const char *name;
	json_t *codec;

	cli_show(stdout, text, path, stats);
	json_object_foreach(json_object_get(stats, "codecs"), name, codec)
	{
		json_object_set_new(codec, "name", json_string(name));
		cli_show(stdout, codec_text, name, codec);
	}
	cli_show(stdout, memory_text, path, stats);
	json_decref(stats);
}

static int refuse(const char *path, int err)
{
	if (err != ENODATA && err != EOPNOTSUPP)
		return cli_message_errno(path, -err);
	cli_message_error("%s: it is not the root of a mount of bloscfs, or of "
			  "one with xattr=off",
			  path);
	return -err;
}

static int show(const void *arg, struct b2f_runtime *runtime,
		const struct cli_operand *operand)
{
	char *said = cli_mounts_ask(operand->at.path, "stats");
	json_t *stats = said ? json_loads(said, 0, NULL) : NULL;

	(void)arg;
	(void)runtime;
	if (!said)
		return refuse(operand->at.path, errno);
	free(said);
	if (!stats)
		return refuse(operand->at.path, ENODATA);
	json_object_set_new(stats, "mountpoint",
			    cli_json_name(operand->at.path));
	add_rates(stats);
	if (cli_json_wanted())
		cli_json_print(stats);
	else
		print_text(operand->at.path, stats);
	return 0;
}

static int run_stats(const struct cli_command *self, int argc, char **argv)
{
	struct cli_common common = {.nthreads = 1};
	const struct cli_operands operands = {
		.command = self, .common = &common, .run = show};
	int status = cli_options_parse(self, argc, argv, &common);

	if (status != CLI_CONTINUE)
		return status;
	return cli_operands_run(&operands, argv + optind);
}

const struct cli_command cli_stats_command = {
	.name = "stats",
	.summary = "show what a mount has done so far",
	.help = help,
	.options = table,
	.missing = "a mountpoint is missing",
	.run = run_stats,
};
