/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_repair.c - bloscctl repair: what can surely be done, and what was asked
 * for
 */
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/json.h"
#include "cli/repair.h"

static const char help[] =
	"Usage: bloscctl repair [OPTION...] FRAME...\n"
	"Removes what writers that crashed left in each sparse FRAME, looks "
	"for damage, and\nrepairs what the options say.\n\n"
	"  -n, --dry-run         only say what would be done\n"
	"      --force           remove young files that no index names, too: "
	"nobody may\n"
	"                        be writing to the frame\n"
	"      --zero-damaged    replace damaged chunks by zeros\n"
	"  -o, --output=NEW      FRAME's index is lost: make the frame NEW of "
	"its chunk files\n"
	"  -f                    overwrite what is at NEW\n" CLI_COMMON_HELP;

enum { OPT_FORCE = 256, OPT_ZERO };

static const struct option longopts[] = {
	{"dry-run", no_argument, NULL, 'n'},
	{"force", no_argument, NULL, OPT_FORCE},
	{"zero-damaged", no_argument, NULL, OPT_ZERO},
	{"output", required_argument, NULL, 'o'},
	CLI_COMMON_LONG,
	{NULL, 0, NULL, 0},
};

static int set_option(struct cli_repair *r, int opt)
{
	switch (opt) {
	case 'n':
		r->dry_run = true;
		return 0;
	case OPT_FORCE:
		r->force = true;
		return 0;
	case OPT_ZERO:
		r->zero_damaged = true;
		return 0;
	case 'o':
		r->output = optarg;
		return 0;
	case 'f':
		r->overwrite = true;
		return 0;
	default:
		return cli_common_option(&r->common, opt, optarg);
	}
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct cli_repair *r)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "nfo:" CLI_COMMON_SHORT, longopts,
				  NULL)) != -1) {
		if (opt == 'h')
			return cli_command_help(self);
		if (set_option(r, opt))
			return cli_command_usage(self);
	}
	if (optind == argc)
		return cli_command_misuse(self, "a frame is missing");
	if (r->output && argc - optind > 1)
		return cli_command_misuse(self, "-o takes one frame");
	return CLI_CONTINUE;
}

static int repair_frame(const void *arg, struct b2f_runtime *runtime,
			const char *path)
{
	return cli_repair_frame(arg, runtime, path);
}

static int run_repair(const struct cli_command *self, int argc, char **argv)
{
	struct cli_repair r = {.common.progress = true};
	int status;

	status = parse(self, argc, argv, &r);
	if (status != CLI_CONTINUE)
		return status;
	if (r.common.json)
		cli_json_begin(argc - optind > 1);
	status = cli_frames_each(r.common.nthreads, argv + optind, repair_frame,
				 &r);
	if (r.common.json)
		cli_json_end();
	return status;
}

const struct cli_command cli_repair_command = {
	.name = "repair",
	.summary = "remove leftovers, replace what is damaged",
	.help = help,
	.run = run_repair,
};
