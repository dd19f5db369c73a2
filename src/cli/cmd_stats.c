/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_stats.c - bloscctl stats, top: counters of a mount, and their rates */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/mounts.h"
#include "cli/need.h"
#include "cli/operands.h"
#include "cli/show.h"
#include "words/value.h"

struct stats {
	struct cli_common common;
	bool prometheus;
};

static const struct cli_option table[] = {
	CLI_OPTION("prometheus", 0, NULL, cli_option_set,
		   offsetof(struct stats, prometheus),
		   "in the text format of Prometheus; one MOUNTPOINT"),
	{.shared = cli_common_quiet},
	{.shared = cli_json_option},
	{0},
};

/* Seconds are summed over all threads. */
static const char text[] =
	"{}\n"
	"  reads     {reads} requests, {read_bytes:size}\n"
	"  writes    {writes} requests, {written_bytes:size}\n"
	"  names     {lookups} lookups, {opens} opens, {errors} errors\n"
	"  cache     {cached_bytes:size} in {cached_blocks} blocks, "
	"{hit_percent} % of {blocks_asked} found there\n"
	"<codecs|  {,-9}"
	"[ decoded {+decoded_bytes:size} in {decode_seconds:seconds} "
	"({decode_speed:size}/s per thread);]"
	"[ encoded {+encoded_bytes:size} in {encode_seconds:seconds} "
	"({encode_speed:size}/s per thread); ratio {ratio:ratio}]\n|>"
	"  memory    {memory_bytes:size}, {dirty_bytes:size} of it written and "
	"not encoded yet\n";

static uint64_t number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static void put(json_t *object, const char *key, uint64_t n)
{
	json_object_set_new(object, key, json_integer((json_int_t)n));
}

static void put_percent(json_t *object, const char *key, uint64_t hits,
			uint64_t all)
{
	put(object, key, all ? hits * 100 / all : 0);
}

/* Adds bytes per second, unless the time is 0. */
static void add_speed(json_t *codec, const char *key, const char *nbytes,
		      const char *seconds)
{
	double s = json_number_value(json_object_get(codec, seconds));
	uint64_t n = number(codec, nbytes);

	put(codec, key, s > 0 ? (uint64_t)((double)n / s) : n);
}

static void add_rates(json_t *stats)
{
	uint64_t hits = number(stats, "hits");
	uint64_t all = hits + number(stats, "misses");
	const char *name;
	json_t *codec;

	put(stats, "blocks_asked", all);
	put_percent(stats, "hit_percent", hits, all);
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

static int refuse(const char *path, int err)
{
	if (err != ENODATA && err != EOPNOTSUPP)
		return cli_message_errno(path, -err);
	cli_message_error("%s: no bloscfs is mounted there, or one with "
			  "xattr=off",
			  path);
	return -err;
}

/* Asks the bloscfs at @path for statistics; NULL after printing the error. */
static json_t *ask(const char *path, int *err)
{
	B2F_OWN char *said = cli_mounts_ask(path, "stats");
	json_t *stats = said ? json_loads(said, 0, NULL) : NULL;

	*err = stats ? 0 : refuse(path, said ? ENODATA : errno);
	if (stats)
		add_rates(stats);
	return stats;
}

static int show(void *arg, const struct cli_operand *operand)
{
	const char *path = operand->at.path;
	json_t *stats;
	int err;

	(void)arg;
	stats = ask(path, &err);
	if (err)
		return err;
	json_object_set_new(stats, "mountpoint", cli_json_name(path));
	cli_json_say(text, path, stats);
	return 0;
}

static int show_prometheus(const char *path)
{
	B2F_OWN char *said = cli_mounts_ask(path, "prometheus");

	if (!said)
		return refuse(path, errno);
	fputs(said, stdout);
	return 0;
}

static int run_stats(const struct cli_command *self, void *options,
		     char **mountpoints)
{
	const struct stats *o = options;

	if (!o->prometheus)
		return cli_operands_run(self, options, mountpoints);
	if (cli_json_wanted() || mountpoints[1])
		return cli_command_misuse(self, "--prometheus takes one "
						"mountpoint, and no --json");
	return show_prometheus(*mountpoints) ? CLI_EXIT_FAILURE : CLI_EXIT_OK;
}

const struct cli_command cli_stats_command = {
	.name = "stats",
	.summary = "show what a mount has done so far",
	.operands = "MOUNTPOINT...",
	.help = "Shows the statistics of the bloscfs at each MOUNTPOINT since "
		"its start: its\nrequests, the hits of its cache, bytes and "
		"times of each codec, and its memory.",
	.options = table,
	.size = sizeof(struct stats),
	.start = &(const struct stats){.common.nthreads = 1,
				       .common.no_progress = true},
	.missing = "a mountpoint is missing",
	.each = show,
	.run = run_stats,
};

struct top {
	uint64_t delay_ms;
	/* 0: until a signal comes. */
	uint64_t count;
};

static int set_delay(const struct cli_option *option, void *field,
		     const char *value)
{
	double s;

	if (b2f_value_seconds(value, "smh", 1e6, &s) || s < 0.01)
		return cli_option_refuse(option, value, "a number of seconds");
	*(uint64_t *)field = (uint64_t)(s * 1000);
	return 0;
}

static const struct cli_option top_table[] = {
	CLI_OPTION("delay", 'd', "SECONDS", set_delay, offsetof(struct top, delay_ms),
	 "time between two refreshes (default: 1)"),
	CLI_OPTION("count", 'n', "N", cli_option_size, offsetof(struct top, count),
	 "end after N refreshes"),
	{.shared = cli_common_quiet},
	{0},
};

static const char top_line[] =
	"{reads_per_s} reads/s {read_bytes_per_s:size}/s, "
	"{writes_per_s} writes/s {written_bytes_per_s:size}/s, "
	"hits {hit_percent_now} %, queue {dirty_bytes:size}, "
	"ratio {ratio:ratio}, memory {memory_bytes:size}"
	"[, server {requests_per_s} requests/s {received_bytes_per_s:size}/s]"
	"\n";

static const char top_screen[] =
	"{}\n"
	"  reads     {reads_per_s,9} /s  {read_bytes_per_s:size,10}/s\n"
	"  writes    {writes_per_s,9} /s  {written_bytes_per_s:size,10}/s\n"
	"  names     {lookups_per_s,9} /s\n"
	"  errors    {errors_per_s,9} /s\n"
	"  hits      {hit_percent_now,9} %   {cached_bytes:size,10} cached\n"
	"  queue     {dirty_bytes:size,9}\n"
	"  ratio     {ratio:ratio,9}\n"
	"  memory    {memory_bytes:size,9}\n"
	"[  server    {requests_per_s,9} /s  {received_bytes_per_s:size,10}/s\n]";

static uint64_t growth(const json_t *before, const json_t *now, const char *key)
{
	uint64_t old = number(before, key), new = number(now, key);

	return new > old ? new - old : 0;
}

static void add_recent(json_t *now, const json_t *before, uint64_t ms)
{
	static const char *const keys[] = {
		"reads",  "read_bytes", "writes",   "written_bytes",
		"lookups", "errors",	"requests", "received_bytes"};
	uint64_t hits = growth(before, now, "hits");
	uint64_t all = hits + growth(before, now, "misses");
	uint64_t encoded = 0, stored = 0;
	const char *name;
	json_t *codec;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint64_t n = growth(before, now, keys[i]) * 1000 / (ms ? ms : 1);
		char key[40];

		snprintf(key, sizeof(key), "%s_per_s", keys[i]);
		if (json_object_get(now, keys[i]))
			put(now, key, n);
	}
	put_percent(now, "hit_percent_now", hits, all);
	json_object_foreach(json_object_get(now, "codecs"), name, codec)
	{
		encoded += number(codec, "encoded_bytes");
		stored += number(codec, "stored_bytes");
	}
	json_object_set_new(now, "ratio", cli_json_ratio(encoded, stored));
}

static int run_top(const struct cli_command *self, void *options,
		   char **mountpoint)
{
	const struct top *top = options;
	const char *path = *mountpoint;
	bool screen = isatty(STDOUT_FILENO);
	uint64_t then = cli_common_now_ms();
	int err;
	json_t *before = ask(path, &err);

	(void)self;
	for (uint64_t i = 0; !err && (top->count == 0 || i < top->count); i++) {
		const struct timespec pause = {
			.tv_sec = (time_t)(top->delay_ms / 1000),
			.tv_nsec = (long)(top->delay_ms % 1000 * 1000000)};
		uint64_t now;
		json_t *stats;

		nanosleep(&pause, NULL);
		now = cli_common_now_ms();
		stats = ask(path, &err);
		if (err)
			break;
		add_recent(stats, before, now - then);
		/* Cursor to the upper left; clear the screen. */
		if (screen)
			fputs("\033[H\033[J", stdout);
		cli_show(stdout, screen ? top_screen : top_line, path, stats);
		/* The reader has closed the pipe. */
		if (fflush(stdout) != 0)
			err = -EPIPE;
		json_decref(before);
		before = stats;
		then = now;
	}
	json_decref(before);
	return err ? CLI_EXIT_FAILURE : CLI_EXIT_OK;
}

const struct cli_command cli_top_command = {
	.name = "top",
	.summary = "show what a mount does now",
	.operands = "MOUNTPOINT",
	.help = "Shows the activity of the bloscfs at MOUNTPOINT, once a "
		"second: requests and\nbytes, hits of its cache, bytes that "
		"wait to be encoded, ratio, and memory.",
	.options = top_table,
	.size = sizeof(struct top),
	.start = &(const struct top){.delay_ms = 1000},
	.missing = "a mountpoint is missing",
	.several = "one mountpoint at a time",
	.run = run_top,
};
