/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_repair.c - bloscctl repair: what can surely be done, and what was asked
 * for
 */
#include "cli/exit_codes.h"
#include "cli/from_url.h"
#include "cli/orphans.h"
#include "cli/repair_frame.h"

static const char help[] =
	"Usage: bloscctl repair [OPTION...] FRAME...\n"
	"Removes what writers that crashed left in each sparse FRAME, looks "
	"for damage, and\nrepairs what the options say.\n\n"
	"  -n, --dry-run         only say what would be done\n"
	"      --force           remove young files that no index names, too: "
	"no program\n"
	"                        may be writing to the frame\n"
	"      --orphans         FRAME is in an object store: remove chunks "
	"that no index names\n"
	"  -r, --recursive       with --orphans: of all frames below each URL\n"
	"      --older=AGE       only those as old as that (1d; s, m, h, d)\n"
	"      --zero-damaged    replace damaged chunks by zeros\n"
	"  -o, --output=NEW      FRAME's index is lost: make the frame NEW of "
	"its chunk files\n"
	"  -f                    overwrite what is at NEW\n" CLI_FROM_URL_SERVER_HELP
	CLI_COMMON_HELP;

#define FIELD(name) offsetof(struct cli_repair, name)

static const struct cli_option table[] = {
	{"dry-run", 'n', no_argument, cli_option_set, FIELD(dry_run), NULL},
	{"force", 0, no_argument, cli_option_set, FIELD(force), NULL},
	{"orphans", 0, no_argument, cli_option_set, FIELD(orphans), NULL},
	{"recursive", 'r', no_argument, cli_option_set, FIELD(recursive), NULL},
	{"older", 0, required_argument, cli_option_text, FIELD(older), NULL},
	{"zero-damaged", 0, no_argument, cli_option_set, FIELD(zero_damaged),
	 NULL},
	{"output", 'o', required_argument, cli_option_text, FIELD(output),
	 NULL},
	{NULL, 'f', no_argument, cli_option_set, FIELD(overwrite), NULL},
	{.shared = cli_from_url_server_options},
	{.shared = cli_common_options, .field = FIELD(common)},
	{0},
};

static int repair_one(const void *how, struct b2f_runtime *runtime,
		      const struct cli_operand *operand)
{
	const struct cli_repair *r = how;

	if (r->orphans)
		return cli_orphans_remove(operand->at.path, r);
	return cli_repair_frame(how, runtime, operand);
}

static int run_repair(const struct cli_command *self, int argc, char **argv)
{
	struct cli_repair r = {.common.progress = true};
	struct cli_operands operands = {.command = self,
					.common = &r.common,
					.run = repair_one,
					.arg = &r};
	int status = cli_options_parse(self, argc, argv, &r);

	if (status != CLI_CONTINUE)
		return status;
	if (r.older && !r.orphans)
		return cli_command_misuse(self, "--older is for --orphans");
	if (r.recursive && !r.orphans)
		return cli_command_misuse(self, "-r is for --orphans");
	if (r.output && argc - optind > 1)
		return cli_command_misuse(self, "-o takes one frame");
	/* A store has no frames that are changed but by writers to it. */
	operands.changes = r.orphans ? NULL : "";
	return cli_operands_run(&operands, argv + optind);
}

const struct cli_command cli_repair_command = {
	.name = "repair",
	.summary = "remove leftovers, replace what is damaged",
	.help = help,
	.options = table,
	.missing = "a frame is missing",
	.run = run_repair,
};
