/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_compress.c - bloscctl compress: plain files into frames */
#include <stdlib.h>
#include <string.h>

#include "cli/bloscpack.h"
#include "cli/command.h"
#include "cli/compress.h"
#include "cli/exit_codes.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/server.h"

static const char help[] =
	"Usage: bloscctl compress [OPTION...] [FILE...]\n"
	"Writes each FILE (- or none: standard input) as a frame beside it, "
	"named\nFILE.b2frame, a directory; or FILE.b2f, a file. A .npy file "
	"becomes an array,\nFILE.b2nd, if it holds exactly one array.\n\n";

struct compress {
	struct cli_compress how;
	/* NULL: from the file's name. */
	const char *output;
};

#define FIELD(name) offsetof(struct compress, name)

static int set_format(const struct cli_option *option, void *field,
		      const char *value)
{
	struct cli_compress *how = field;

	how->bloscpack = strcmp(value, "blp") == 0;
	how->contiguous = strcmp(value, "contiguous") == 0;
	if (how->bloscpack || how->contiguous || strcmp(value, "sparse") == 0)
		return 0;
	return cli_option_refuse(option, value, "sparse, contiguous or blp");
}

static const struct cli_option table[] = {
	CLI_OPTION("output", 'o', "FRAME", cli_option_text, FIELD(output),
	 "write to FRAME, or into the directory FRAME; - is\nstandard output"),
	CLI_OPTION("stdout", 'c', NULL, cli_option_set, FIELD(how.to_stdout),
	 "write to standard output (contiguous)"),
	CLI_OPTION("contiguous", 0, NULL, cli_option_set, FIELD(how.contiguous),
	 "make a file instead of a directory"),
	CLI_OPTION("format", 0, "NAME", set_format, FIELD(how),
	 "sparse (default), contiguous, or blp: a Bloscpack file,\nFILE.blp"),
	{.shared = cli_bloscpack_options, .field = FIELD(how.checksum)},
	CLI_OPTION("plain", 0, NULL, cli_option_set, FIELD(how.plain), "make no arrays"),
	CLI_OPTION("recursive", 'r', NULL, cli_option_set, FIELD(how.common.recursive),
	 "all files below each directory"),
	CLI_OPTION("force", 'f', NULL, cli_option_set, FIELD(how.common.force),
	 "overwrite; write to a terminal too"),
	CLI_OPTION("keep", 'k', NULL, cli_option_clear, FIELD(how.remove),
	 "keep the files (default)"),
	CLI_OPTION("rm", 0, NULL, cli_option_set, FIELD(how.remove),
	 "remove each file once its frame is safe"),
	{.shared = cli_server_options},
	{.shared = cli_server_new_object_options},
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
	if (o->how.to_stdout && (n > 1 || o->how.common.recursive))
		return cli_command_misuse(self, "-c takes one file");
	if (from_stdin && !o->output && !o->how.to_stdout)
		return cli_command_misuse(self, "standard input needs -o or "
						"-c");
	if (o->how.checksum && !o->how.bloscpack)
		return cli_command_misuse(self, "--checksum goes with "
						"--format=blp");
	if (o->how.bloscpack && o->how.remove)
		return cli_command_misuse(
			self, "--rm does not go with --format=blp, which keeps "
			      "the data alone");
	if (o->how.bloscpack && o->how.contiguous)
		return cli_command_misuse(self, "--contiguous and --format=blp "
						"exclude each other");
	/* As in zstd: bytes sent to a pipe cannot be checked. */
	if (o->how.to_stdout) {
		o->how.remove = false;
		o->how.contiguous = !o->how.bloscpack;
	}
	if (o->how.to_stdout && cli_json_wanted())
		return cli_command_misuse(self, "-c and --json exclude each "
						"other");
	return CLI_CONTINUE;
}

static int run_compress(const struct cli_command *self, int argc, char **argv)
{
	static char dash[] = "-";
	char *from_stdin[] = {dash, NULL};
	struct compress o = {.how.common.progress = true};
	struct cli_operands operands = {.command = self,
					.common = &o.how.common,
					.files = true,
					.to_url = true,
					.run = cli_compress_file,
					.arg = &o.how};
	int status = cli_options_parse(self, argc, argv, &o);

	if (status == CLI_CONTINUE)
		status = check(self, &o, argc - optind, argv + optind);
	if (status != CLI_CONTINUE)
		return status;
	if (cli_encoding_take_environment(&o.how.encoding) ||
	    cli_common_take_environment(&o.how.common))
		return CLI_EXIT_USAGE;
	if (o.how.to_stdout && !cli_common_may_print(&o.how.common))
		return CLI_EXIT_FAILURE;
	operands.output = o.how.to_stdout ? NULL : o.output;
	return cli_operands_run(&operands,
				optind < argc ? argv + optind : from_stdin);
}

const struct cli_command cli_compress_command = {
	.name = "compress",
	.summary = "write plain files as frames",
	.help = help,
	.options = table,
	.run = run_compress,
};
