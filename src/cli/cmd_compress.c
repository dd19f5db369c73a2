/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_compress.c - bloscctl compress: plain files into frames */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/compress.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/json.h"
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

struct options {
	struct cli_compress compress;
	/* NULL: from the file's name. */
	const char *output;
	bool to_stdout;
	bool recursive;
};

enum { OPT_RM = 256, OPT_CONTIGUOUS, OPT_PLAIN };

static const struct option longopts[] = {
	{"output", required_argument, NULL, 'o'},
	{"stdout", no_argument, NULL, 'c'},
	{"contiguous", no_argument, NULL, OPT_CONTIGUOUS},
	{"plain", no_argument, NULL, OPT_PLAIN},
	{"recursive", no_argument, NULL, 'r'},
	{"force", no_argument, NULL, 'f'},
	{"keep", no_argument, NULL, 'k'},
	{"rm", no_argument, NULL, OPT_RM},
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
	case 'c':
		o->to_stdout = true;
		return 0;
	case 'r':
		o->recursive = true;
		return 0;
	case 'f':
		o->compress.force = true;
		return 0;
	case 'k':
		o->compress.remove = false;
		return 0;
	case OPT_RM:
		o->compress.remove = true;
		return 0;
	case OPT_CONTIGUOUS:
		o->compress.contiguous = true;
		return 0;
	case OPT_PLAIN:
		o->compress.plain = true;
		return 0;
	default:
		if (cli_encoding_has(opt))
			return cli_encoding_option(&o->compress.encoding, opt,
						   optarg);
		return cli_common_option(&o->compress.common, opt, optarg);
	}
}

static int check(const struct cli_command *self, struct options *o, int n,
		 char **files)
{
	bool from_stdin = n == 0;

	for (int i = 0; i < n; i++)
		from_stdin = from_stdin || strcmp(files[i], "-") == 0;
	if (o->output && strcmp(o->output, "-") == 0)
		o->to_stdout = true;
	else if (o->output && o->to_stdout)
		return cli_command_misuse(self, "-o and -c exclude each other");
	if ((o->output || o->to_stdout) && n > 1)
		return cli_command_misuse(self, "-o and -c take one file");
	if (o->recursive && (o->output || o->to_stdout))
		return cli_command_misuse(self, "-r goes with neither -o nor "
						"-c");
	if (from_stdin && !o->output && !o->to_stdout)
		return cli_command_misuse(self, "standard input needs -o or "
						"-c");
	/* As in zstd: what a pipe swallowed cannot be checked. */
	if (o->to_stdout)
		o->compress.remove = false;
	if (o->to_stdout && o->compress.common.json)
		return cli_command_misuse(self, "-c and --json exclude each "
						"other");
	return CLI_CONTINUE;
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct options *o)
{
	int opt;

	while ((opt = getopt_long(argc, argv,
				  "o:crfk" CLI_ENCODING_SHORT CLI_COMMON_SHORT,
				  longopts, NULL)) != -1) {
		if (opt == 'h')
			return cli_command_help(self);
		if (set_option(o, opt))
			return cli_command_usage(self);
	}
	return check(self, o, argc - optind, argv + optind);
}

static int compress_file(const struct options *o, const char *file)
{
	if (o->to_stdout)
		return cli_compress_stdout(&o->compress, file);
	return cli_compress_file(&o->compress, file, o->output);
}

/* Files below a directory, collected before there are new ones. */
struct files {
	char **paths;
	size_t n;
	size_t cap;
	int err;
};

static void collect(void *arg, const struct cli_walk_entry *entry)
{
	struct files *files = arg;
	char **paths = files->paths;

	if (entry->peek.is_frame || !S_ISREG(entry->st->st_mode))
		return;
	if (files->n == files->cap) {
		files->cap = 2 * files->cap + 64;
		paths = realloc(paths, files->cap * sizeof(*paths));
	}
	if (paths) {
		files->paths = paths;
		paths[files->n] = strdup(entry->path);
	}
	if (!paths || !paths[files->n])
		files->err = -ENOMEM;
	else
		files->n++;
}

static int compress_tree(const struct options *o, const char *path)
{
	struct files files = {0};
	const struct cli_walk walk = {
		.recursive = true, .visit = collect, .arg = &files};
	int err, e;

	err = cli_walk_run(&walk, path);
	if (files.err) {
		err = files.err;
		cli_message_error("%s: %s", path, strerror(-err));
	}
	for (size_t i = 0; i < files.n; i++) {
		e = files.err ? 0 : compress_file(o, files.paths[i]);
		if (e && !err)
			err = e;
		free(files.paths[i]);
	}
	free(files.paths);
	return err;
}

static int compress_any(const struct options *o, const char *path)
{
	struct stat st;

	if (o->recursive && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return compress_tree(o, path);
	return compress_file(o, path);
}

static int compress_all(const struct options *o, char **paths)
{
	int status = CLI_EXIT_OK, err = 0;

	for (; *paths && err != -EPIPE; paths++) {
		err = compress_any(o, *paths);
		if (err)
			status = CLI_EXIT_FAILURE;
	}
	return status;
}

static int run_compress(const struct cli_command *self, int argc, char **argv)
{
	static char dash[] = "-";
	char *from_stdin[] = {dash, NULL};
	struct options o = {.compress.common.progress = true};
	int status;

	status = parse(self, argc, argv, &o);
	if (status != CLI_CONTINUE)
		return status;
	if (o.to_stdout && isatty(STDOUT_FILENO) && !o.compress.force) {
		cli_message_error("standard output is a terminal; -f writes "
				  "to it");
		return CLI_EXIT_FAILURE;
	}
	if (cli_frames_runtime(o.compress.common.nthreads, &o.compress.runtime))
		return CLI_EXIT_FAILURE;
	if (o.compress.common.json)
		cli_json_begin(o.recursive || argc - optind > 1);
	status = compress_all(&o, optind < argc ? argv + optind : from_stdin);
	if (o.compress.common.json)
		cli_json_end();
	b2f_runtime_free(o.compress.runtime);
	return status;
}

const struct cli_command cli_compress_command = {
	.name = "compress",
	.summary = "write plain files as frames",
	.help = help,
	.run = run_compress,
};
