/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_recompress.c - bloscctl recompress: all data encoded anew */
#include "cli/command.h"
#include "cli/encoding.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/json.h"
#include "cli/transform.h"

static const char help[] =
	"Usage: bloscctl recompress [OPTION...] FRAME...\n"
	"Encodes all data of each FRAME anew, as the options say and else as "
	"its header\nsays, and replaces it, at once, when the new one has been "
	"read back.\nMetadata are kept, and so are type, chunk and block size "
	"of arrays.\n\n"
	"  -o, --output=NAME     write to NAME, and keep FRAME\n"
	"  -f, --force           overwrite what is at NAME\n" CLI_ENCODING_HELP
		CLI_COMMON_HELP;

struct options {
	struct cli_transform transform;
	struct cli_encoding encoding;
	const char *output;
};

static const struct option longopts[] = {
	{"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, 'f'},
	CLI_ENCODING_LONG,
	CLI_COMMON_LONG,
	{NULL, 0, NULL, 0},
};

static int set_option(struct options *o, int opt)
{
	switch (opt) {
	case 'o':
		o->output = optarg;
		return 0;
	case 'f':
		o->transform.force = true;
		return 0;
	default:
		if (cli_encoding_has(opt))
			return cli_encoding_option(&o->encoding, opt, optarg);
		return cli_common_option(&o->transform.common, opt, optarg);
	}
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct options *o)
{
	int opt;

	while ((opt = getopt_long(argc, argv,
				  "o:f" CLI_ENCODING_SHORT CLI_COMMON_SHORT,
				  longopts, NULL)) != -1) {
		if (opt == 'h')
			return cli_command_help(self);
		if (set_option(o, opt))
			return cli_command_usage(self);
	}
	if (optind == argc)
		return cli_command_misuse(self, "a frame is missing");
	if (o->output && argc - optind > 1)
		return cli_command_misuse(self, "-o takes one frame");
	return CLI_CONTINUE;
}

static int recompress_frame(const void *arg, struct b2f_runtime *runtime,
			    const char *path)
{
	const struct options *o = arg;

	return cli_transform_frame(&o->transform, runtime, path, o->output);
}

static int run_recompress(const struct cli_command *self, int argc, char **argv)
{
	struct options o = {.transform = {.command = "recompress",
					  .common.progress = true}};
	int status;

	o.transform.encoding = &o.encoding;
	status = parse(self, argc, argv, &o);
	if (status != CLI_CONTINUE)
		return status;
	if (o.transform.common.json)
		cli_json_begin(argc - optind > 1);
	status = cli_frames_each(o.transform.common.nthreads, argv + optind,
				 recompress_frame, &o);
	if (o.transform.common.json)
		cli_json_end();
	return status;
}

const struct cli_command cli_recompress_command = {
	.name = "recompress",
	.summary = "encode frames anew, with other settings",
	.help = help,
	.run = run_recompress,
};
