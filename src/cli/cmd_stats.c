/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_stats.c - bloscctl stats: what a mount has done so far */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/mounts.h"
#include "cli/operands.h"
#include "cli/text.h"

static const char help[] =
	"Usage: bloscctl stats [OPTION...] MOUNTPOINT...\n"
	"Shows what the bloscfs at each MOUNTPOINT has done since it began: "
	"requests,\nbytes, hits of its cache, what its codecs did and in what "
	"time, and its memory.\n\n"
	"      --json       as JSON, with all counters; several as an array\n"
	"  -h, --help       this text\n";

static const struct cli_option table[] = {
	{"json", 0, no_argument, cli_option_set,
	 offsetof(struct cli_common, json), NULL},
	{0},
};

static uint64_t number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* "  NAME  N requests, SIZE" */
static void put_requests(const json_t *stats, const char *name,
			 const char *count, const char *nbytes)
{
	char size[CLI_TEXT_SIZE];

	printf("  %-9s %" PRIu64 " requests, %s\n", name, number(stats, count),
	       cli_text_size(number(stats, nbytes), size));
}

static void put_cache(const json_t *stats)
{
	uint64_t hits = number(stats, "hits"), all;
	char size[CLI_TEXT_SIZE];

	all = hits + number(stats, "misses");
	printf("  %-9s %s in %" PRIu64 " blocks, %" PRIu64 " %% of %" PRIu64
	       " found there\n",
	       "cache", cli_text_size(number(stats, "cached_bytes"), size),
	       number(stats, "cached_blocks"), all ? hits * 100 / all : 0, all);
}

/* Bytes, seconds of all threads together, and what that is per second. */
static void put_work(const json_t *codec, const char *what, const char *nbytes,
		     const char *seconds)
{
	char size[CLI_TEXT_SIZE], speed[CLI_TEXT_SIZE];
	uint64_t n = number(codec, nbytes);
	double s = json_real_value(json_object_get(codec, seconds));

	if (!n)
		return;
	printf(" %s %s in %.2f s (%s/s per thread);", what,
	       cli_text_size(n, size), s,
	       cli_text_size(s > 0 ? (uint64_t)((double)n / s) : n, speed));
}

static void put_codec(const char *name, const json_t *codec)
{
	uint64_t encoded = number(codec, "encoded_bytes");
	char ratio[CLI_TEXT_SIZE];

	printf("  %-9s", name);
	put_work(codec, "decoded", "decoded_bytes", "decode_seconds");
	put_work(codec, "encoded", "encoded_bytes", "encode_seconds");
	if (encoded)
		printf(" ratio %s",
		       cli_text_ratio(encoded, number(codec, "stored_bytes"),
				      ratio));
	putchar('\n');
}

static void print_text(const char *path, json_t *stats)
{
	char dirty[CLI_TEXT_SIZE], memory[CLI_TEXT_SIZE];
	const char *name;
	json_t *codec;

	cli_text_name(stdout, path);
	putchar('\n');
	put_requests(stats, "reads", "reads", "read_bytes");
	put_requests(stats, "writes", "writes", "written_bytes");
	printf("  %-9s %" PRIu64 " lookups, %" PRIu64 " opens, %" PRIu64
	       " errors\n",
	       "names", number(stats, "lookups"), number(stats, "opens"),
	       number(stats, "errors"));
	put_cache(stats);
	json_object_foreach(json_object_get(stats, "codecs"), name, codec)
		put_codec(name, codec);
	printf("  %-9s %s, %s of it written and not encoded yet\n", "memory",
	       cli_text_size(number(stats, "memory_bytes"), memory),
	       cli_text_size(number(stats, "dirty_bytes"), dirty));
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
	const struct cli_common *common = arg;
	char *text = cli_mounts_ask(operand->at.path, "stats");
	json_t *stats = text ? json_loads(text, 0, NULL) : NULL;

	(void)runtime;
	if (!text)
		return refuse(operand->at.path, errno);
	free(text);
	if (!stats)
		return refuse(operand->at.path, ENODATA);
	if (common->json) {
		json_object_set_new(stats, "mountpoint",
				    cli_json_name(operand->at.path));
		cli_json_print(stats);
		return 0;
	}
	print_text(operand->at.path, stats);
	json_decref(stats);
	return 0;
}

static int run_stats(const struct cli_command *self, int argc, char **argv)
{
	struct cli_common common = {.nthreads = 1};
	const struct cli_operands operands = {
		.command = self, .common = &common, .run = show, .arg = &common};
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
