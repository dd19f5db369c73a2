/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_info.c - bloscctl info: prints facts about frames */
#include <stdio.h>

#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/info.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/options.h"
#include "cli/server.h"

static const char help[] =
	"Usage: bloscctl info [OPTION...] FRAME...\n"
	"Shows the index of each FRAME; no data are decoded. For a file in a "
	"mount,\nshows the mount's description of the frame behind it. - "
	"stands for a contiguous\nframe on standard input.\n\n";

struct info {
	struct cli_common common;
	bool chunks;
	bool meta;
	/* Nothing was printed yet. */
	bool *first;
};

#define FIELD(name) offsetof(struct info, name)

static const struct cli_option table[] = {
	{.shared = cli_common_recursive, .field = FIELD(common)},
	CLI_OPTION("chunks", 0, NULL, cli_option_set, FIELD(chunks),
	 "every chunk as well"),
	CLI_OPTION("meta", 0, NULL, cli_option_set, FIELD(meta),
	 "every metalayer as well"),
	CLI_OPTION("json", 0, NULL, cli_json_want, 0,
	 "all but the chunks as JSON; several frames as\n"
	 "an array; with --chunks, the chunks too"),
	CLI_OPTION("frame-offset", 0, "N", cli_option_size, FIELD(common.frame_offset),
	 "the frame begins at byte N of the file"),
	{.shared = cli_common_quiet},
	{.shared = cli_server_reading_options},
	{0},
};

/* Prints @object as text or as JSON, and frees it. */
static void say(const struct info *o, const struct cli_at *at, json_t *object)
{
	/* An empty line between frames. */
	if (!*o->first && !cli_json_wanted())
		putchar('\n');
	*o->first = false;
	cli_json_say(cli_info_text, at->path, object);
}

static int print_frame(const struct info *o, const struct cli_at *at,
		       struct b2f_frame *frame)
{
	bool json = cli_json_wanted();
	json_t *object = NULL;
	int err, meta_err = 0;

	err = cli_info_object(at, frame, o->chunks && json, &object);
	cli_message_explain(b2f_frame_label(frame), err);
	if (object)
		say(o, at, object);
	if (!err && o->meta && !json)
		meta_err = cli_info_metas(frame);
	if (!err && o->chunks && !json)
		err = cli_info_chunks(frame);
	return err ? err : meta_err;
}

/* Prints the mount's description of a file in it. */
static int print_mounted(const struct info *o, const struct cli_at *at,
			 json_t *object)
{
	if (!o->chunks && !o->meta) {
		say(o, at, object);
		return 0;
	}
	cli_message_error("%s: a mount does not show chunks and metalayers; "
			  "the frame is %s",
			  at->path,
			  json_string_value(json_object_get(object, "frame")));
	json_decref(object);
	return B2F_EUNSUPPORTED;
}

/* A file in a mount is described by the mount. */
static bool is_frame(const struct cli_at *at)
{
	struct b2f_frame_peek peek;

	return b2f_frame_peek(at->dir, at->name, &peek) == 0 && peek.is_frame;
}

static int print_operand(const void *arg, const struct cli_operand *operand)
{
	const struct info *o = arg;
	uint64_t offset = o->common.frame_offset;
	const struct b2f_frame_options how = {.offset = offset,
					      .join_objects = true};
	struct b2f_frame *frame = NULL;
	json_t *mounted = NULL;
	int err;

	if (!offset && operand->at.kind == CLI_KIND_PATH &&
	    !is_frame(&operand->at))
		mounted = cli_frames_in_mount(&operand->at);
	if (mounted)
		return print_mounted(o, &operand->at, mounted);
	err = cli_frames_open(&how, &operand->at, &frame);
	if (!err)
		err = print_frame(o, &operand->at, frame);
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
