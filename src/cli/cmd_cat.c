/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_cat.c - bloscctl cat: decoded bytes to standard output */
#include <getopt.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/copy.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/options.h"

static const char help[] =
	"Usage: bloscctl cat [OPTION...] FRAME...\n"
	"Writes the decoded bytes of each FRAME to standard output.\n\n"
	"      --offset=N        begin at byte N; -N counts from the end\n"
	"      --length=N        write at most N bytes of each frame\n"
	"  -f, --force           write to a terminal too\n"
	"  -T, --threads=N       decode on N threads; 0 (default): all cores\n"
	"      --frame-offset=N  the frame begins at byte N of the file\n"
	"  -h, --help            this text\n";

struct options {
	uint64_t offset;
	uint64_t length;
	uint64_t frame_offset;
	unsigned int nthreads;
	bool from_end;
	bool force;
};

enum { OPT_OFFSET = 256, OPT_LENGTH, OPT_FRAME_OFFSET };

static const struct option longopts[] = {
	{"offset", required_argument, NULL, OPT_OFFSET},
	{"length", required_argument, NULL, OPT_LENGTH},
	{"force", no_argument, NULL, 'f'},
	{"threads", required_argument, NULL, 'T'},
	{"frame-offset", required_argument, NULL, OPT_FRAME_OFFSET},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* Returns 0 or -EINVAL, for an option with a value or without. */
static int set_option(struct options *o, int opt)
{
	switch (opt) {
	case OPT_OFFSET:
		return cli_options_position("--offset", optarg, &o->offset,
					    &o->from_end);
	case OPT_LENGTH:
		return cli_options_size("--length", optarg, &o->length);
	case OPT_FRAME_OFFSET:
		return cli_options_size("--frame-offset", optarg,
					&o->frame_offset);
	case 'T':
		return cli_options_threads("--threads", optarg, &o->nthreads);
	case 'f':
		o->force = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct options *o)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "fT:h", longopts, NULL)) != -1) {
		if (opt == 'h')
			return cli_command_help(self);
		if (set_option(o, opt))
			return cli_command_usage(self);
	}
	if (optind == argc)
		return cli_command_misuse(self, "a frame is missing");
	return CLI_CONTINUE;
}

/* What @o asks for of a file of @size bytes. */
static void choose_range(const struct options *o, uint64_t size,
			 struct cli_copy *copy)
{
	copy->off = o->offset < size ? o->offset : size;
	if (o->from_end)
		copy->off = size - copy->off;
	copy->size = size - copy->off;
	if (o->length < copy->size)
		copy->size = o->length;
}

static int cat_frame(const void *arg, struct b2f_runtime *runtime,
		     const char *path)
{
	const struct options *o = arg;
	struct cli_copy copy = {0};
	int err;

	err = cli_frames_open_file(runtime, path, o->frame_offset, &copy.file);
	if (err)
		return err;
	choose_range(o, b2f_file_size(copy.file), &copy);
	err = cli_copy_stream(&copy, STDOUT_FILENO, "standard output");
	b2f_file_close(copy.file);
	return err;
}

static int run_cat(const struct cli_command *self, int argc, char **argv)
{
	struct options o = {.length = UINT64_MAX};
	int status;

	status = parse(self, argc, argv, &o);
	if (status != CLI_CONTINUE)
		return status;
	if (isatty(STDOUT_FILENO) && !o.force) {
		cli_message_error("standard output is a terminal; -f writes "
				  "to it");
		return CLI_EXIT_FAILURE;
	}
	return cli_frames_each(o.nthreads, argv + optind, cat_frame, &o);
}

const struct cli_command cli_cat_command = {
	.name = "cat",
	.summary = "write decoded bytes to standard output",
	.help = help,
	.run = run_cat,
};
