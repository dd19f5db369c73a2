/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_ls.c - bloscctl ls: the frames in a directory, and their sizes */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/exit_codes.h"
#include "cli/from_url.h"
#include "cli/json.h"
#include "cli/kind.h"
#include "cli/ls_tree.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/text.h"
#include "cli/walk.h"

static const char help[] =
	"Usage: bloscctl ls [OPTION...] [DIR|FRAME...]\n"
	"Lists the frames in each DIR (default: here): storage, decoded size, "
	"\nstored size, ratio, name.\n\n"
	"  -a, --all        list what is no frame too\n"
	"  -l, --long       exact sizes, mode, and time of last change\n"
	"  -r, --recursive  go into directories\n"
	"      --tree       all of it as a tree, with types and shapes of "
	"arrays\n"
	"      --json       as a JSON array\n"
	CLI_FROM_URL_HELP
	"  -h, --help       this text\n";

struct ls {
	bool all;
	bool full;
	bool recursive;
	bool json;
	bool as_tree;
	struct cli_ls_tree tree;
	/* Entries printed so far. */
	uint64_t nprinted;
};

/* Room for what stands before a name. */
#define COLUMNS_SIZE 64

#define FIELD(name) offsetof(struct ls, name)

static const struct cli_option table[] = {
	{"all", 'a', no_argument, cli_option_set, FIELD(all), NULL},
	{"long", 'l', no_argument, cli_option_set, FIELD(full), NULL},
	{"recursive", 'r', no_argument, cli_option_set, FIELD(recursive), NULL},
	{"tree", 0, no_argument, cli_option_set, FIELD(as_tree), NULL},
	{"json", 0, no_argument, cli_option_set, FIELD(json), NULL},
	{.shared = cli_from_url_options},
	{0},
};

static const char *storage_name(const struct b2f_frame_peek *peek)
{
	if (!peek->is_frame)
		return "-";
	if (peek->broken)
		return "broken";
	if (peek->bloscpack)
		return "bloscpack";
	return peek->sparse ? "sparse" : "contiguous";
}

/* No sizes are known of what is no frame, or broken. */
static bool has_sizes(const struct b2f_frame_peek *peek)
{
	return peek->is_frame && !peek->broken;
}

/* Mode and time of what changes when the data do. */
static const struct stat *stat_of(const struct cli_walk_entry *entry)
{
	return entry->peek.is_frame ? &entry->peek.index : entry->st;
}

static void write_short(const struct b2f_frame_peek *peek,
			char columns[COLUMNS_SIZE])
{
	char size[CLI_TEXT_SIZE] = "-", stored[CLI_TEXT_SIZE] = "-";
	char ratio[CLI_TEXT_SIZE] = "-";

	if (has_sizes(peek)) {
		cli_text_size(peek->nbytes, size);
		cli_text_size(peek->cbytes, stored);
		cli_text_ratio(peek->nbytes, peek->cbytes, ratio);
	}
	snprintf(columns, COLUMNS_SIZE, "%-10s  %10s  %10s  %8s  ",
		 storage_name(peek), size, stored, ratio);
}

static void print_long(const struct cli_walk_entry *entry)
{
	const struct b2f_frame_peek *peek = &entry->peek;
	const struct stat *st = stat_of(entry);
	char size[24] = "-", stored[24] = "-", ratio[CLI_TEXT_SIZE] = "-";
	char date[32] = "-";
	struct tm tm;

	if (has_sizes(peek)) {
		snprintf(size, sizeof(size), "%" PRIu64, peek->nbytes);
		snprintf(stored, sizeof(stored), "%" PRIu64, peek->cbytes);
		cli_text_ratio(peek->nbytes, peek->cbytes, ratio);
	}
	if (localtime_r(&st->st_mtime, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm);
	printf("%04o  %-10s  %15s  %15s  %8s  %s  ", st->st_mode & 07777,
	       storage_name(peek), size, stored, ratio, date);
}

static json_t *describe(const struct cli_walk_entry *entry)
{
	const struct b2f_frame_peek *peek = &entry->peek;
	const char *storage = peek->is_frame ? storage_name(peek) : NULL;
	json_t *object =
		json_pack("{s:o*, s:s?, s:I}", "name",
			  cli_json_name(entry->path), "storage", storage,
			  "mtime", (json_int_t)stat_of(entry)->st_mtime);
	double ratio = 0;

	if (peek->cbytes)
		ratio = (double)peek->nbytes / (double)peek->cbytes;
	if (has_sizes(peek))
		json_object_update_new(
			object,
			json_pack("{s:I, s:I, s:f}", "nbytes",
				  (json_int_t)peek->nbytes, "cbytes",
				  (json_int_t)peek->cbytes, "ratio", ratio));
	return object;
}

/* With --tree: what the index says of an array. */
static void add_array(json_t *object, const struct cli_walk_entry *entry)
{
	struct b2f_frame *own = cli_ls_tree_open(entry);
	const struct b2f_array *array =
		cli_ls_tree_array(own ? own : entry->frame);
	json_t *shape = array ? json_array() : NULL;

	for (unsigned int i = 0; array && i < array->ndim; i++)
		json_array_append_new(shape, json_integer(array->shape[i]));
	if (array)
		json_object_update_new(
			object, json_pack("{s:s?, s:o*}", "dtype", array->dtype,
					  "shape", shape));
	b2f_frame_close(own);
}

static void print_json(const struct ls *ls, const struct cli_walk_entry *entry)
{
	json_t *object = describe(entry);

	if (ls->as_tree)
		add_array(object, entry);
	cli_json_print(object);
}

static void visit(void *arg, const struct cli_walk_entry *entry)
{
	struct ls *ls = arg;
	char columns[COLUMNS_SIZE];

	if (!entry->peek.is_frame && !ls->all)
		return;
	write_short(&entry->peek, columns);
	if (ls->json) {
		print_json(ls, entry);
	} else if (ls->as_tree) {
		cli_ls_tree_print(&ls->tree, entry, columns);
	} else {
		if (ls->full)
			print_long(entry);
		else
			fputs(columns, stdout);
		cli_text_name(stdout, entry->path);
		putchar('\n');
	}
	ls->nprinted++;
}

/* A plain file that the user names is an error, unless -a lists it. */
static int list(struct ls *ls, const char *path)
{
	const struct cli_walk walk = {
		.recursive = ls->recursive, .visit = visit, .arg = ls};
	uint64_t before = ls->nprinted;
	struct stat st;
	int err;

	cli_ls_tree_begin(&ls->tree, path);
	err = cli_walk_run(&walk, path);
	if (err || ls->nprinted > before)
		return err;
	if (cli_kind_of(path) != CLI_KIND_PATH || stat(path, &st) != 0 ||
	    S_ISDIR(st.st_mode))
		return 0;
	cli_message_error("%s: it is no frame", path);
	return B2F_ENOTFRAME;
}

static int run_ls(const struct cli_command *self, int argc, char **argv)
{
	static char here[] = ".";
	char *default_operand[] = {here, NULL};
	char **operands = default_operand;
	struct ls ls = {0};
	int status = cli_options_parse(self, argc, argv, &ls);

	if (status != CLI_CONTINUE)
		return status;
	status = CLI_EXIT_OK;
	if (optind < argc)
		operands = argv + optind;
	ls.recursive = ls.recursive || ls.as_tree;
	if (ls.json)
		cli_json_begin(true);
	else if (ls.as_tree)
		cli_ls_tree_head();
	for (; *operands; operands++)
		if (list(&ls, *operands))
			status = CLI_EXIT_FAILURE;
	if (ls.json)
		cli_json_end();
	cli_ls_tree_fini(&ls.tree);
	return status;
}

const struct cli_command cli_ls_command = {
	.name = "ls",
	.summary = "list the frames in a directory",
	.help = help,
	.options = table,
	.run = run_ls,
};
