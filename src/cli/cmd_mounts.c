/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_mounts.c - bloscctl mounts: where bloscfs is mounted */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit_codes.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/mounts.h"
#include "cli/options.h"
#include "cli/text.h"

static const char help[] =
	"Usage: bloscctl mounts [OPTION...]\n"
	"Lists where bloscfs is mounted: mountpoint, source, read-only or not, "
	"process.\n\n"
	"      --json       as a JSON array\n"
	"  -h, --help       this text\n";

struct mounts {
	bool json;
};

static const struct cli_option table[] = {
	{"json", 0, no_argument, cli_option_set, offsetof(struct mounts, json),
	 NULL},
	{0},
};

/* Of a mount that does not answer, neither is known. */
static void print_json(const struct cli_mount *mount, const char *pid,
		       const char *version)
{
	cli_json_print(json_pack(
		"{s:o*, s:o*, s:s, s:o, s:s?}", "mountpoint",
		cli_json_name(mount->mountpoint), "source",
		cli_json_name(mount->source), "options", mount->options, "pid",
		pid ? json_integer(strtol(pid, NULL, 10)) : json_null(),
		"version", version));
}

static void print_text(const struct cli_mount *mount, const char *pid)
{
	cli_text_name(stdout, mount->mountpoint);
	fputs("  ", stdout);
	cli_text_name(stdout, mount->source);
	printf("  %.2s  %s\n", mount->options, pid ? pid : "no answer");
}

static void print_mount(void *arg, const struct cli_mount *mount)
{
	const struct mounts *o = arg;
	char *pid = cli_mounts_ask(mount->mountpoint, "pid");
	char *version = cli_mounts_ask(mount->mountpoint, "version");

	if (o->json)
		print_json(mount, pid, version);
	else
		print_text(mount, pid);
	free(pid);
	free(version);
}

static int run_mounts(const struct cli_command *self, int argc, char **argv)
{
	struct mounts o = {0};
	int status = cli_options_parse(self, argc, argv, &o), err;

	if (status != CLI_CONTINUE)
		return status;
	if (optind < argc)
		return cli_command_misuse(self, "it has no operands");
	if (o.json)
		cli_json_begin(true);
	err = cli_mounts_each(print_mount, &o);
	if (o.json)
		cli_json_end();
	return cli_message_errno("/proc/self/mounts", err) ? CLI_EXIT_FAILURE
							   : CLI_EXIT_OK;
}

const struct cli_command cli_mounts_command = {
	.name = "mounts",
	.summary = "list where bloscfs is mounted",
	.help = help,
	.options = table,
	.run = run_mounts,
};
