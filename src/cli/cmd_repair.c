/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_repair.c - bloscctl repair: safe repairs, and those that options allow */
#include "cli/exit_codes.h"
#include "cli/orphans.h"
#include "cli/repair_frame.h"
#include "cli/server.h"

static const char help[] =
	"Usage: bloscctl repair [OPTION...] FRAME...\n"
	"Removes leftovers of crashed writers from each sparse FRAME, looks "
	"for damage,\nand repairs it as the options say.\n\n";

#define FIELD(name) offsetof(struct cli_repair, name)

static const struct cli_option table[] = {
	CLI_OPTION("dry-run", 'n', NULL, cli_option_set, FIELD(dry_run),
	 "only say what would be done"),
	CLI_OPTION("force", 0, NULL, cli_option_set, FIELD(force),
	 "remove young files that no index names, too: no program\n"
	 "may be writing to the frame"),
	CLI_OPTION("orphans", 0, NULL, cli_option_set, FIELD(orphans),
	 "in an object store: remove chunks that no index names"),
	CLI_OPTION("recursive", 'r', NULL, cli_option_set, FIELD(recursive),
	 "with --orphans: for all frames below each URL"),
	CLI_OPTION("older", 0, "AGE", cli_option_text, FIELD(older),
	 "only orphans at least this old (1d; s, m, h, d)"),
	CLI_OPTION("zero-damaged", 0, NULL, cli_option_set, FIELD(zero_damaged),
	 "replace damaged chunks by zeros"),
	CLI_OPTION("output", 'o', "NEW", cli_option_text, FIELD(output),
	 "make the frame NEW of the chunk files of FRAME"),
	CLI_OPTION(NULL, 'f', NULL, cli_option_set, FIELD(overwrite),
	 "replace an existing NEW"),
	{.shared = cli_server_options},
	{.shared = cli_common_options, .field = FIELD(common)},
	{0},
};

static int repair_one(const void *how, const struct cli_operand *operand)
{
	const struct cli_repair *r = how;

	if (r->orphans)
		return cli_orphans_remove(operand->at.path, r);
	return cli_repair_frame(how, operand);
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
	/* Frames in a store are changed only by writers of the store. */
	operands.changes = r.orphans ? NULL : "";
	return cli_operands_run(&operands, argv + optind);
}

const struct cli_command cli_repair_command = {
	.name = "repair",
	.summary = "remove leftovers, replace damaged chunks",
	.help = help,
	.options = table,
	.missing = "a frame is missing",
	.run = run_repair,
};
