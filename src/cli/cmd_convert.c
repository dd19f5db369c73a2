/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_convert.c - bloscctl convert: sparse frames to contiguous ones and back
 */
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/transform.h"

static const char help[] =
	"Usage: bloscctl convert [OPTION...] FRAME...\n"
	"Copies each sparse FRAME to a contiguous one, and the other way "
	"round.\nChunks and metadata are copied as they are. The copy stands "
	"beside it, as\nNAME.b2f (contiguous) or NAME.b2frame (sparse).\n\n"
	"  -o, --output=NAME     write to NAME\n"
	"      --contiguous      copy to a contiguous frame, whatever it is\n"
	"      --sparse          copy to a sparse frame, whatever it is\n"
	"  -f, --force           overwrite\n"
	"  -k, --keep            keep the frames (default)\n"
	"      --rm              remove each frame once its copy is safe\n"
	"      --no-verify       copy chunks without decoding them\n"
	"      --frame-offset=N  the frame begins at byte N of the "
	"file\n" CLI_COMMON_HELP;

struct options {
	struct cli_transform transform;
	const char *output;
};

enum {
	OPT_RM = 256,
	OPT_CONTIGUOUS,
	OPT_SPARSE,
	OPT_NO_VERIFY,
	OPT_FRAME_OFFSET,
};

static const struct option longopts[] = {
	{"output", required_argument, NULL, 'o'},
	{"contiguous", no_argument, NULL, OPT_CONTIGUOUS},
	{"sparse", no_argument, NULL, OPT_SPARSE},
	{"force", no_argument, NULL, 'f'},
	{"keep", no_argument, NULL, 'k'},
	{"rm", no_argument, NULL, OPT_RM},
	{"no-verify", no_argument, NULL, OPT_NO_VERIFY},
	{"frame-offset", required_argument, NULL, OPT_FRAME_OFFSET},
	CLI_COMMON_LONG,
	{NULL, 0, NULL, 0},
};

static int set_option(struct options *o, int opt)
{
	struct cli_transform *t = &o->transform;

	switch (opt) {
	case 'o':
		o->output = optarg;
		return 0;
	case OPT_CONTIGUOUS:
		t->storage = CLI_STORAGE_CONTIGUOUS;
		return 0;
	case OPT_SPARSE:
		t->storage = CLI_STORAGE_SPARSE;
		return 0;
	case 'f':
		t->force = true;
		return 0;
	case 'k':
		t->remove = false;
		return 0;
	case OPT_RM:
		t->remove = true;
		return 0;
	case OPT_NO_VERIFY:
		t->no_verify = true;
		return 0;
	case OPT_FRAME_OFFSET:
		return cli_options_size("--frame-offset", optarg,
					&t->frame_offset);
	default:
		return cli_common_option(&t->common, opt, optarg);
	}
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct options *o)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "o:fk" CLI_COMMON_SHORT, longopts,
				  NULL)) != -1) {
		if (opt == 'h')
			return cli_command_help(self);
		if (set_option(o, opt))
			return cli_command_usage(self);
	}
	if (optind == argc)
		return cli_command_misuse(self, "a frame is missing");
	if (o->output && argc - optind > 1)
		return cli_command_misuse(self, "-o takes one frame");
	if (o->transform.remove && o->transform.frame_offset > 0)
		return cli_command_misuse(
			self, "--rm cannot remove a part of a file");
	return CLI_CONTINUE;
}

static int convert_frame(const void *arg, struct b2f_runtime *runtime,
			 const char *path)
{
	const struct options *o = arg;

	return cli_transform_frame(&o->transform, runtime, path,
				   o->output ? o->output : "");
}

static int run_convert(const struct cli_command *self, int argc, char **argv)
{
	struct options o = {.transform = {.command = "convert",
					  .storage = CLI_STORAGE_OTHER,
					  .common.progress = true}};
	int status;

	status = parse(self, argc, argv, &o);
	if (status != CLI_CONTINUE)
		return status;
	if (o.transform.common.json)
		cli_json_begin(argc - optind > 1);
	status = cli_frames_each(o.transform.common.nthreads, argv + optind,
				 convert_frame, &o);
	if (o.transform.common.json)
		cli_json_end();
	return status;
}

const struct cli_command cli_convert_command = {
	.name = "convert",
	.summary = "copy frames, sparse to contiguous and back",
	.help = help,
	.run = run_convert,
};
