/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_info.c - bloscctl info: what a frame says about itself */
#include <stdio.h>
#include <stdlib.h>

#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/from_url.h"
#include "cli/info.h"
#include "cli/info_mounted.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/options.h"

static const char help[] =
	"Usage: bloscctl info [OPTION...] FRAME...\n"
	"Shows what the index of each FRAME says; no data are decoded. Of a "
	"file "
	"in a\nmount, what the mount tells of the frame behind it;\n- is a contiguous "
	"frame on standard input.\n\n"
	CLI_RECURSIVE_HELP
	"      --chunks          every chunk as well\n"
	"      --meta            every metalayer as well\n"
	"      --json            all but the chunks as JSON; several frames "
	"as\n"
	"                        an array; with --chunks, the chunks too\n"
	"      --frame-offset=N  the frame begins at byte N of the file\n"
	CLI_FROM_URL_HELP
	"  -h, --help            this text\n";

struct info {
	struct cli_common common;
	bool chunks;
	bool meta;
	/* Nothing was printed yet. */
	bool *first;
};

#define FIELD(name) offsetof(struct info, name)

static const struct cli_option table[] = {
	{"json", 0, no_argument, cli_option_set, FIELD(common.json), NULL},
	{"chunks", 0, no_argument, cli_option_set, FIELD(chunks), NULL},
	{"meta", 0, no_argument, cli_option_set, FIELD(meta), NULL},
	{"frame-offset", 0, required_argument, cli_option_size,
	 FIELD(common.frame_offset), NULL},
	{.shared = cli_common_recursive, .field = FIELD(common)},
	{.shared = cli_from_url_options},
	{0},
};

/* An empty line between frames. */
static void separate(const struct info *o)
{
	if (!*o->first)
		putchar('\n');
	*o->first = false;
}

static int print_text(const struct info *o, const struct cli_at *at,
		      struct b2f_frame *frame)
{
	int err = 0, meta_err = 0;

	separate(o);
	cli_info_summary(at, frame);
	if (o->meta)
		meta_err = cli_info_metas(frame);
	if (o->chunks)
		err = cli_info_chunks(frame);
	return err ? err : meta_err;
}

static int print_json(const struct info *o, const struct cli_at *at,
		      struct b2f_frame *frame)
{
	char *text = NULL;
	int err;

	err = cli_info_json(at, frame, o->chunks, &text);
	cli_message_explain(b2f_frame_label(frame), err);
	if (text)
		cli_json_print_text(text);
	free(text);
	return err;
}

/* What the mount says that the file is in. */
static int print_mounted(const struct info *o, const char *path,
			 const char *text)
{
	if (o->chunks || o->meta) {
		cli_message_error("%s: a mount does not tell of chunks and "
				  "metalayers; ask for the frame in its source",
				  path);
		return B2F_EUNSUPPORTED;
	}
	if (o->common.json) {
		cli_json_print_text(text);
		return 0;
	}
	separate(o);
	return cli_info_print_mounted(path, text);
}

static int print_operand(const void *arg, struct b2f_runtime *runtime,
			 const struct cli_operand *operand)
{
	const struct info *o = arg;
	uint64_t offset = o->common.frame_offset;
	const struct b2f_frame_options how = {.offset = offset,
					      .join_objects = true};
	struct b2f_frame *frame = NULL;
	char *mounted = NULL;
	int err = 0;

	(void)runtime;
	if (!offset && operand->at.kind == CLI_KIND_PATH)
		mounted = cli_info_mounted(&operand->at);
	if (mounted) {
		err = print_mounted(o, operand->at.path, mounted);
		free(mounted);
		return err;
	}
	err = cli_frames_open(&how, &operand->at, &frame);
	if (err)
		return err;
	err = o->common.json ? print_json(o, &operand->at, frame)
			     : print_text(o, &operand->at, frame);
	b2f_frame_close(frame);
	return err;
}

static int run_info(const struct cli_command *self, int argc, char **argv)
{
	bool first = true;
	struct info o = {.first = &first, .common.nthreads = 1};
	const struct cli_operands operands = {.command = self,
					      .common = &o.common,
					      .stores = true,
					      .run = print_operand,
					      .arg = &o};
	int status = cli_options_parse(self, argc, argv, &o);

	if (status != CLI_CONTINUE)
		return status;
	return cli_operands_run(&operands, argv + optind);
}

const struct cli_command cli_info_command = {
	.name = "info",
	.summary = "show what a frame says about itself",
	.help = help,
	.options = table,
	.missing = "a frame is missing",
	.run = run_info,
};
