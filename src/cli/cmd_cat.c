/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_cat.c - bloscctl cat: decoded bytes to standard output */

#include "cli/common.h"
#include "cli/copy.h"
#include "cli/frames.h"
#include "cli/operands.h"
#include "cli/server.h"
#include "words/value.h"

struct position {
	uint64_t offset;
	/* The size had a minus. */
	bool from_end;
};

struct cat {
	struct cli_common common;
	struct position begin;
	uint64_t length;
};

/* A size with an optional sign. */
static int set_position(const struct cli_option *option, void *field,
			const char *value)
{
	struct position *position = field;
	bool minus = value[0] == '-';
	int64_t offset;

	if (b2f_value_size(value + minus, &offset))
		return cli_option_refuse(option, value, "a position");
	position->offset = (uint64_t)offset;
	position->from_end = minus;
	return 0;
}

#define FIELD(name) offsetof(struct cat, name)

static const struct cli_option table[] = {
	CLI_OPTION("offset", 0, "N", set_position, FIELD(begin),
		   "begin at byte N; -N counts from the end"),
	CLI_OPTION("length", 0, "N", cli_option_size, FIELD(length),
		   "write at most N bytes of each frame"),
	CLI_FLAG("force", 'f', common.force, "write to a terminal too"),
	{.shared = cli_common_reading_options},
	{.shared = cli_common_quiet},
	{.shared = cli_server_reading_options},
	{0},
};

static void choose_range(const struct cat *o, uint64_t size,
			 struct cli_copy *copy)
{
	copy->off = o->begin.offset < size ? o->begin.offset : size;
	if (o->begin.from_end)
		copy->off = size - copy->off;
	copy->size = size - copy->off;
	if (o->length < copy->size)
		copy->size = o->length;
}

static int cat_frame(void *arg, const struct cli_operand *operand)
{
	const struct cat *o = arg;
	struct cli_output out = cli_output_standard();
	struct cli_copy copy = {0};
	int err;

	err = cli_frames_open_file(operand->runtime, &operand->how,
				   &operand->at, &copy.file);
	if (err)
		return err;
	choose_range(o, b2f_file_size(copy.file), &copy);
	err = cli_copy_output(&copy, &out);
	b2f_file_close(copy.file);
	return err;
}

const struct cli_command cli_cat_command = {
	.name = "cat",
	.summary = "write decoded bytes to standard output",
	.operands = "FRAME...",
	.help = "Writes the decoded bytes of each FRAME to standard output; - "
		"stands for a\ncontiguous frame on standard input.",
	.options = table,
	.size = sizeof(struct cat),
	.start = &(const struct cat){.common.no_progress = true,
				     .common.to_stdout = true,
				     .length = UINT64_MAX},
	.missing = "a frame is missing",
	.each = cat_frame,
	.run = cli_operands_run,
};
