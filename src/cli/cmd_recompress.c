/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_recompress.c - bloscctl recompress: all data encoded anew */
#include "cli/exit_codes.h"
#include "cli/transform.h"

static const char help[] =
	"Usage: bloscctl recompress [OPTION...] FRAME...\n"
	"Encodes all data of each FRAME anew, with the settings of the "
	"options, and\notherwise those of its header. The new frame replaces "
	"it in one step, after it\nhas been read back. Metadata stay; arrays "
	"keep type, chunk and block size.\n\n";

#define FIELD(name) offsetof(struct cli_transform, name)

static const struct cli_option table[] = {
	CLI_OPTION("output", 'o', "NAME", cli_option_text, FIELD(output),
	 "write to NAME, or into the directory NAME; keep FRAME"),
	{.shared = cli_common_recursive, .field = FIELD(common)},
	CLI_OPTION("force", 'f', NULL, cli_option_set, FIELD(common.force),
	 "replace an existing NAME"),
	{.shared = cli_encoding_kept_options, .field = FIELD(encoding)},
	{.shared = cli_common_options, .field = FIELD(common)},
	{0},
};

static int run_recompress(const struct cli_command *self, int argc, char **argv)
{
	struct cli_transform t = {.encode = true,
				  .common.progress = true};
	int status = cli_options_parse(self, argc, argv, &t);

	if (status != CLI_CONTINUE)
		return status;
	return cli_transform_run(self, &t, argv + optind);
}

const struct cli_command cli_recompress_command = {
	.name = "recompress",
	.summary = "encode frames anew, with other settings",
	.help = help,
	.options = table,
	.missing = "a frame is missing",
	.run = run_recompress,
};
