/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_compress.c - bloscctl compress: plain files into frames */
#include <argz.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/compress.h"
#include "cli/exit_codes.h"
#include "cli/message.h"
#include "cli/walk.h"

static const char help[] =
	"Usage: bloscctl compress [OPTION...] [FILE...]\n"
	"Writes each FILE (- or none: standard input) as a frame beside it, "
	"named\nFILE.b2frame, a directory; or FILE.b2f, a file. A .npy file "
	"becomes an array,\nFILE.b2nd, if it is whole and nothing else.\n\n"
	"  -o, --output=FRAME    write to FRAME; - is standard output\n"
	"  -c, --stdout          write to standard output (contiguous)\n"
	"      --contiguous      make a file instead of a directory\n"
	"      --plain           make no arrays\n"
	"  -r, --recursive       all files below each directory\n"
	"  -f, --force           overwrite; write to a terminal too\n"
	"  -k, --keep            keep the files (default)\n"
	"      --rm              remove each file once its frame is "
	"safe\n" CLI_ENCODING_HELP CLI_COMMON_HELP;

struct compress {
	struct cli_compress how;
	/* NULL: from the file's name. */
	const char *output;
};

#define FIELD(name) offsetof(struct compress, name)

static const struct cli_option table[] = {
	{"output", 'o', required_argument, cli_option_text, FIELD(output),
	 NULL},
	{"stdout", 'c', no_argument, cli_option_set, FIELD(how.to_stdout),
	 NULL},
	{"contiguous", 0, no_argument, cli_option_set, FIELD(how.contiguous),
	 NULL},
	{"plain", 0, no_argument, cli_option_set, FIELD(how.plain), NULL},
	{"recursive", 'r', no_argument, cli_option_set,
	 FIELD(how.common.recursive), NULL},
	{"force", 'f', no_argument, cli_option_set, FIELD(how.common.force),
	 NULL},
	{"keep", 'k', no_argument, cli_option_clear, FIELD(how.remove), NULL},
	{"rm", 0, no_argument, cli_option_set, FIELD(how.remove), NULL},
	{.shared = cli_encoding_options, .field = FIELD(how.encoding)},
	{.shared = cli_common_options, .field = FIELD(how.common)},
	{0},
};

static int check(const struct cli_command *self, struct compress *o, int n,
		 char **files)
{
	bool from_stdin = n == 0;

	for (int i = 0; i < n; i++)
		from_stdin = from_stdin || strcmp(files[i], "-") == 0;
	if (o->output && strcmp(o->output, "-") == 0)
		o->how.to_stdout = true;
	else if (o->output && o->how.to_stdout)
		return cli_command_misuse(self, "-o and -c exclude each other");
	if ((o->output || o->how.to_stdout) && n > 1)
		return cli_command_misuse(self, "-o and -c take one file");
	if (o->how.common.recursive && (o->output || o->how.to_stdout))
		return cli_command_misuse(self, "-r goes with neither -o nor "
						"-c");
	if (from_stdin && !o->output && !o->how.to_stdout)
		return cli_command_misuse(self, "standard input needs -o or "
						"-c");
	/* As in zstd: what a pipe swallowed cannot be checked. */
	if (o->how.to_stdout) {
		o->how.remove = false;
		o->how.contiguous = true;
	}
	if (o->how.to_stdout && o->how.common.json)
		return cli_command_misuse(self, "-c and --json exclude each "
						"other");
	return CLI_CONTINUE;
}

/* Files below a directory, collected before there are new ones. */
struct files {
	char *paths;
	size_t len;
	int err;
};

static void collect(void *arg, const struct cli_walk_entry *entry)
{
	struct files *files = arg;

	if (!entry->peek.is_frame && S_ISREG(entry->st->st_mode) &&
	    argz_add(&files->paths, &files->len, entry->path))
		files->err = -ENOMEM;
}

static int compress_file(const struct compress *o, struct b2f_runtime *runtime,
			 const char *path)
{
	struct cli_compress how = o->how;

	how.runtime = runtime;
	return cli_compress_file(&how, path, o->output);
}

static int compress_tree(const struct compress *o, struct b2f_runtime *runtime,
			 const char *root)
{
	struct files files = {0};
	const struct cli_walk walk = {
		.recursive = true, .visit = collect, .arg = &files};
	const char *path = NULL;
	int err, e;

	err = cli_walk_run(&walk, root);
	if (files.err)
		err = cli_message_errno(root, files.err);
	while (!files.err && (path = argz_next(files.paths, files.len, path))) {
		e = compress_file(o, runtime, path);
		if (e && !err)
			err = e;
	}
	free(files.paths);
	return err;
}

static int compress_any(const void *arg, struct b2f_runtime *runtime,
			const char *path)
{
	const struct compress *o = arg;
	struct stat st;

	if (o->how.common.recursive && stat(path, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		return compress_tree(o, runtime, path);
	return compress_file(o, runtime, path);
}

static int run_compress(const struct cli_command *self, int argc, char **argv)
{
	static char dash[] = "-";
	char *from_stdin[] = {dash, NULL};
	struct compress o = {.how.common.progress = true};
	int status = cli_options_parse(self, argc, argv, &o);

	if (status == CLI_CONTINUE)
		status = check(self, &o, argc - optind, argv + optind);
	if (status != CLI_CONTINUE)
		return status;
	if (o.how.to_stdout && !cli_common_may_print(&o.how.common))
		return CLI_EXIT_FAILURE;
	return cli_common_each(&o.how.common,
			       optind < argc ? argv + optind : from_stdin,
			       compress_any, &o);
}

const struct cli_command cli_compress_command = {
	.name = "compress",
	.summary = "write plain files as frames",
	.help = help,
	.options = table,
	.run = run_compress,
};
