/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_info.c - bloscctl info: what a frame says about itself */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/info.h"
#include "cli/info_mounted.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/pack_path.h"
#include "cli/walk.h"

static const char help[] =
	"Usage: bloscctl info [OPTION...] FRAME...\n"
	"Shows what the index of each FRAME says; no data are decoded. Of a "
	"file "
	"in a\nmount, what the mount tells of the frame behind it;\n- is a contiguous "
	"frame on standard input.\n\n"
	"      --chunks          every chunk as well\n"
	"      --meta            every metalayer as well\n"
	"      --json            all but the chunks as JSON; several frames "
	"as\n"
	"                        an array; with --chunks, the chunks too\n"
	"      --frame-offset=N  the frame begins at byte N of the file\n"
	"  -h, --help            this text\n";

struct info {
	uint64_t frame_offset;
	bool json;
	bool chunks;
	bool meta;
};

#define FIELD(name) offsetof(struct info, name)

static const struct cli_option table[] = {
	{"json", 0, no_argument, cli_option_set, FIELD(json), NULL},
	{"chunks", 0, no_argument, cli_option_set, FIELD(chunks), NULL},
	{"meta", 0, no_argument, cli_option_set, FIELD(meta), NULL},
	{"frame-offset", 0, required_argument, cli_option_size,
	 FIELD(frame_offset), NULL},
	{0},
};

/* @first: nothing of an earlier frame stands before it. */
static int print_text(const struct info *o, struct b2f_frame *frame, bool first)
{
	int err = 0, meta_err = 0;

	if (!first)
		putchar('\n');
	cli_info_summary(frame);
	if (o->meta)
		meta_err = cli_info_metas(frame);
	if (o->chunks)
		err = cli_info_chunks(frame);
	return err ? err : meta_err;
}

static int print_json(const struct info *o, struct b2f_frame *frame, bool first)
{
	char *text = NULL;
	int err;

	err = cli_info_json(frame, o->chunks, &text);
	cli_message_explain(b2f_frame_label(frame), err);
	if (!text)
		return err;
	printf("%s%s", first ? "" : ",\n", text);
	free(text);
	return err;
}

/* What the mount says that the file is in. */
static int print_mounted(const struct info *o, const char *path,
			 const char *text, bool first)
{
	if (o->chunks || o->meta) {
		cli_message_error("%s: a mount does not tell of chunks and "
				  "metalayers; ask for the frame in its source",
				  path);
		return B2F_EUNSUPPORTED;
	}
	if (o->json) {
		printf("%s%s", first ? "" : ",\n", text);
		return 0;
	}
	if (!first)
		putchar('\n');
	return cli_info_print_mounted(path, text);
}

/* A walk through a store. */
struct members {
	const struct info *options;
	bool *first;
	int err;
};

static void print_member(void *arg, const struct cli_walk_entry *entry)
{
	struct members *m = arg;
	int err;

	if (!entry->frame)
		return;
	err = m->options->json
		      ? print_json(m->options, entry->frame, *m->first)
		      : print_text(m->options, entry->frame, *m->first);
	*m->first = false;
	m->err = m->err ? m->err : err;
}

/* All frames in the ZIP file that is a store. */
static int print_members(const struct info *o, const char *path, bool *first)
{
	struct members m = {.options = o, .first = first};
	const struct cli_walk walk = {
		.recursive = true, .visit = print_member, .arg = &m};
	int err = cli_walk_run(&walk, path);

	return err ? err : m.err;
}

/* Is it a file that has frames in it, and is none itself? */
static bool is_zip_store(const struct info *o, const char *path)
{
	struct b2f_frame_peek peek;
	const char *key;
	char *file = o->frame_offset ? NULL
				     : cli_pack_path_split(path, true, &key);
	bool is = file && !*key &&
		  (b2f_frame_peek(AT_FDCWD, file, &peek) || !peek.is_frame);

	free(file);
	return is;
}

static int print_path(const struct info *o, const char *path, bool *first)
{
	struct b2f_frame *frame = NULL;
	char *mounted = o->frame_offset ? NULL : cli_info_mounted(path);
	int err = 0;

	if (mounted) {
		err = print_mounted(o, path, mounted, *first);
		*first = *first && err;
		free(mounted);
		return err;
	}
	if (is_zip_store(o, path))
		return print_members(o, path, first);
	err = cli_frames_open(path, o->frame_offset, &frame);
	if (err)
		return err;
	err = o->json ? print_json(o, frame, *first)
		      : print_text(o, frame, *first);
	*first = false;
	b2f_frame_close(frame);
	return err;
}

/* Prints every frame that opens.  Returns an exit code. */
static int print_frames(const struct info *o, char **paths)
{
	int status = CLI_EXIT_OK;
	bool first = true;

	for (; *paths; paths++)
		if (print_path(o, *paths, &first))
			status = CLI_EXIT_FAILURE;
	if (o->json && !first)
		putchar('\n');
	return status;
}

static int run_info(const struct cli_command *self, int argc, char **argv)
{
	struct info o = {0};
	int status = cli_options_parse(self, argc, argv, &o);
	bool several;

	if (status != CLI_CONTINUE)
		return status;
	several =
		o.json && (argc - optind > 1 || is_zip_store(&o, argv[optind]));
	if (several)
		puts("[");
	status = print_frames(&o, argv + optind);
	if (several)
		puts("]");
	return status;
}

const struct cli_command cli_info_command = {
	.name = "info",
	.summary = "show what a frame says about itself",
	.help = help,
	.options = table,
	.missing = "a frame is missing",
	.run = run_info,
};
