/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_ls.c - bloscctl ls: the frames in a directory, and their sizes */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/b2frame.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/options.h"
#include "cli/pack_path.h"
#include "cli/server.h"
#include "cli/show.h"
#include "cli/text.h"
#include "cli/walk.h"
#include "meta/escape.h"

struct ls {
	bool all;
	bool full;
	bool recursive;
	bool quiet;
	bool as_tree;
	/* Length of the path of the operand, before its name. */
	size_t skip;
	/* Directory of the last line of the tree; malloc'ed. */
	char *last;
	/* Entries printed so far. */
	uint64_t nprinted;
};

/* Opens the frame of @entry, unless it is open or not a frame; close it. */
static struct b2f_frame *open_frame(const struct cli_walk_entry *entry)
{
	const struct b2f_frame_options quiet = {
		.nofollow = !cli_at_is_named(&entry->at)};
	struct b2f_frame *frame = NULL;

	if (entry->frame || !entry->peek.is_frame ||
	    b2f_frame_open(&quiet, entry->at.dir, entry->at.name, &frame))
		return NULL;
	return frame;
}

static void add_array(json_t *object, const struct cli_walk_entry *entry)
{
	CLI_OWN_FRAME struct b2f_frame *own = open_frame(entry);
	const struct b2f_frame *frame = own ? own : entry->frame;
	const struct b2f_array *array = frame ? b2f_frame_array(frame) : NULL;
	json_t *shape = json_array();

	if (frame && !array)
		array = b2f_frame_tensor(frame);
	for (unsigned int i = 0; array && i < array->ndim; i++)
		json_array_append_new(shape, json_integer(array->shape[i]));
	/* A dtype comes from the file: escape it. */
	if (array && array->dtype)
		json_object_set_new(object, "dtype",
				    cli_json_name(array->dtype));
	if (array)
		json_object_set(object, "shape", shape);
	json_decref(shape);
}

static void begin_tree(struct ls *ls, const char *path)
{
	size_t len = strlen(path);
	const char *slash;

	while (len > 1 && path[len - 1] == '/')
		len--;
	slash = memrchr(path, '/', len);
	ls->skip = slash ? (size_t)(slash + 1 - path) : 0;
	free(ls->last);
	ls->last = cli_need_copy("");
}

/*
 * Prints a line for each directory of @path that differs from those of the last
 * line.  Returns the name behind them; *@depth is their number.
 */
static const char *enter(struct ls *ls, const char *path, int *depth)
{
	const char *name = path, *slash;
	bool same = true;

	for (*depth = 0; (slash = strchr(name, '/')); name = slash + 1) {
		size_t len = (size_t)(slash + 1 - path);

		same = same && strncmp(ls->last, path, len) == 0;
		if (!same && slash > path) {
			printf("%74s%*s", "", 2 * *depth, "");
			b2f_escape_put(stdout, name,
				       (size_t)(slash + 1 - name));
			putchar('\n');
		}
		++*depth;
	}
	free(ls->last);
	ls->last = cli_need_part(path, (size_t)(name - path));
	return *name ? name : path;
}

/* The columns before the name: a heading, and templates of show.h. */
static const struct {
	const char *heading;
	const char *line;
} columns[] = {
	{"STORAGE           SIZE      STORED     RATIO  ",
	 "{storage,-10}  {nbytes:size,10}  {cbytes:size,10}  {ratio:ratio,8}  "},
	{"MODE  STORAGE              SIZE           STORED     RATIO  CHANGED "
	 "          ",
	 "{mode:mode}  {storage,-10}  {nbytes,15}  {cbytes,15}  "
	 "{ratio:ratio,8}  {mtime:date}  "},
	{"STORAGE           SIZE      STORED     RATIO  DTYPE     SHAPE         "
	 "    ",
	 "{storage,-10}  {nbytes:size,10}  {cbytes:size,10}  {ratio:ratio,8}  "
	 "{dtype,-8}  {shape:shape,-16}  "},
};

#define FIELD(name) offsetof(struct ls, name)

static const struct cli_option table[] = {
	CLI_FLAG("all", 'a', all, "also list entries that are no frames"),
	CLI_FLAG("long", 'l', full,
		"exact sizes, mode, and time of last change"),
	CLI_FLAG("recursive", 'r', recursive, "list directories below, too"),
	CLI_FLAG("tree", 0, as_tree,
		"print a tree, with types and shapes of arrays"),
	CLI_OPTION("json", 0, NULL, cli_json_want, 0, "as a JSON array"),
	CLI_FLAG("quiet", 'q', quiet, "no names of columns"),
	{.shared = cli_server_reading_options},
	{0},
};

/* NULL: not a frame. */
static const char *storage_name(const struct b2f_frame_peek *peek)
{
	if (!peek->is_frame)
		return NULL;
	if (peek->broken)
		return "broken";
	if (peek->bloscpack)
		return "bloscpack";
	return peek->sparse ? "sparse" : "contiguous";
}

static json_t *describe(const struct cli_walk_entry *entry)
{
	const struct b2f_frame_peek *peek = &entry->peek;
	/* Mode and mtime of the index, which change with the data. */
	const struct stat *st = peek->is_frame ? &peek->index : entry->st;
	json_t *object = json_pack("{s:o*, s:s?, s:I, s:i}", "name",
				   cli_json_name(entry->path), "storage",
				   storage_name(peek), "mtime",
				   (json_int_t)st->st_mtime, "mode",
				   (int)(st->st_mode & 07777));

	/* Files that are not frames, and broken frames, have no sizes. */
	if (peek->is_frame && !peek->broken)
		json_object_update_new(
			object, json_pack("{s:I, s:I, s:o}", "nbytes",
					  (json_int_t)peek->nbytes, "cbytes",
					  (json_int_t)peek->cbytes, "ratio",
					  cli_json_ratio(peek->nbytes,
							 peek->cbytes)));
	return object;
}

static void print_text(struct ls *ls, const struct cli_walk_entry *entry,
		       const json_t *object)
{
	size_t kind = ls->as_tree ? 2 : ls->full;
	const char *name = entry->path;
	B2F_OWN char *shown = NULL;
	int depth = 0;

	if (ls->nprinted == 0 && !ls->quiet)
		printf("%sNAME\n", columns[kind].heading);
	if (ls->as_tree)
		name = enter(ls, name + ls->skip, &depth);
	cli_show(stdout, columns[kind].line, "", object);
	printf("%*s", 2 * depth, "");
	shown = cli_text_name(stdout, name);
	puts(shown);
}

static void visit(void *arg, const struct cli_walk_entry *entry)
{
	struct ls *ls = arg;
	json_t *object;

	if (!entry->peek.is_frame && !ls->all)
		return;
	object = describe(entry);
	if (ls->as_tree)
		add_array(object, entry);
	if (cli_json_wanted()) {
		cli_json_print(object);
	} else {
		print_text(ls, entry, object);
		json_decref(object);
	}
	ls->nprinted++;
}

/*
 * A plain file as operand is an error, unless -a lists it.  A store without
 * frames at its top is listed recursively.
 */
static int list(struct ls *ls, const char *path)
{
	struct cli_walk walk = {
		.recursive = ls->recursive, .visit = visit, .arg = ls};
	const struct cli_at at = cli_at_named(path);
	bool store = cli_pack_path_leads_in(path, true);
	uint64_t before = ls->nprinted;
	struct stat st;
	int err;

	cli_message_begin();
	begin_tree(ls, path);
	err = cli_walk_run(&walk, path);
	if (!err && store && !ls->recursive && ls->nprinted == before) {
		walk.recursive = true;
		err = cli_walk_run(&walk, path);
	}
	if (err || store || ls->nprinted > before)
		return err;
	if (cli_kind_of(path) != CLI_KIND_PATH || stat(path, &st) != 0 ||
	    S_ISDIR(st.st_mode))
		return 0;
	if (!cli_frames_tell_mounted(&at))
		cli_message_error("%s: it is no frame", path);
	return B2F_ENOTFRAME;
}

static int run_ls(const struct cli_command *self, void *options,
		  char **operands)
{
	static char here[] = ".";
	char *default_operand[] = {here, NULL};
	struct ls *ls = options;
	int status = CLI_EXIT_OK;

	(void)self;
	operands = *operands ? operands : default_operand;
	ls->recursive = ls->recursive || ls->as_tree;
	cli_json_begin(true);
	for (; *operands; operands++) {
		if (list(ls, *operands) == 0)
			continue;
		cli_json_fail("ls", *operands);
		status = CLI_EXIT_FAILURE;
	}
	cli_json_end();
	free(ls->last);
	return status;
}

const struct cli_command cli_ls_command = {
	.name = "ls",
	.letter = "l",
	.summary = "list the frames in a directory",
	.operands = "[DIR|FRAME...]",
	.help = "Lists the frames in each DIR (default: the current "
		"directory): storage, decoded\nsize, stored size, ratio and "
		"name, below a line with the names of the columns.",
	.options = table,
	.size = sizeof(struct ls),
	.run = run_ls,
};
