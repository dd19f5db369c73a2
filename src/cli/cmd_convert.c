/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_convert.c - bloscctl convert: sparse frames to contiguous ones and back
 */
#include <string.h>

#include "cli/bloscpack.h"
#include "cli/exit_codes.h"
#include "cli/server.h"
#include "cli/transform.h"

static const char help[] =
	"Usage: bloscctl convert [OPTION...] FRAME...\n"
	"Copies each sparse FRAME to a contiguous one, and the other way "
	"round.\nChunks and metadata are copied as they are. The copy stands "
	"beside it, as\nNAME.b2f (contiguous) or NAME.b2frame (sparse).\n\n";

#define FIELD(name) offsetof(struct cli_transform, name)

static int set_storage(const struct cli_option *option, void *storage,
		       const char *value)
{
	(void)value;
	*(enum cli_storage *)storage =
		strcmp(option->name, "sparse") == 0	 ? CLI_STORAGE_SPARSE
		: strcmp(option->name, "bloscpack") == 0 ? CLI_STORAGE_BLOSCPACK
		: strcmp(option->name, "b2nd") == 0	 ? CLI_STORAGE_ARRAY
							 : CLI_STORAGE_CONTIGUOUS;
	return 0;
}

static const struct cli_option table[] = {
	CLI_OPTION("output", 'o', "NAME", cli_option_text, FIELD(output),
	 "write to NAME; or into the directory NAME"),
	{.shared = cli_common_recursive, .field = FIELD(common)},
	CLI_OPTION("contiguous", 0, NULL, set_storage, FIELD(storage),
	 "copy to a contiguous frame, also from one"),
	CLI_OPTION("sparse", 0, NULL, set_storage, FIELD(storage),
	 "copy to a sparse frame, also from one"),
	CLI_OPTION("b2nd", 0, NULL, set_storage, FIELD(storage),
	 "make an array, NAME.b2nd, of a NumPy array in a\n"
	 "Bloscpack file, or of a frame by save_array"),
	CLI_OPTION("bloscpack", 0, NULL, set_storage, FIELD(storage),
	 "make a Bloscpack file, NAME.blp, of the data"),
	{.shared = cli_bloscpack_options, .field = FIELD(checksum)},
	CLI_OPTION("force", 'f', NULL, cli_option_set, FIELD(common.force), "overwrite"),
	CLI_OPTION("keep", 'k', NULL, cli_option_clear, FIELD(remove),
	 "keep the frames (default)"),
	CLI_OPTION("rm", 0, NULL, cli_option_set, FIELD(remove),
	 "remove each frame once its copy is safe"),
	CLI_OPTION("no-verify", 0, NULL, cli_option_set, FIELD(no_verify),
	 "copy chunks without decoding them"),
	CLI_OPTION("frame-offset", 0, "N", cli_option_size, FIELD(common.frame_offset),
	 "the frame begins at byte N of the file"),
	{.shared = cli_server_reading_options},
	{.shared = cli_common_options, .field = FIELD(common)},
	{0},
};

static int run_convert(const struct cli_command *self, int argc, char **argv)
{
	struct cli_transform t = {.storage = CLI_STORAGE_OTHER,
				  .common.progress = true};
	int status = cli_options_parse(self, argc, argv, &t);

	if (status != CLI_CONTINUE)
		return status;
	if (t.remove && t.storage == CLI_STORAGE_BLOSCPACK)
		return cli_command_misuse(
			self, "--rm does not go with --bloscpack, which keeps "
			      "the data alone");
	if (t.remove && t.storage == CLI_STORAGE_ARRAY)
		return cli_command_misuse(self,
					  "--rm does not go with --b2nd, which "
					  "keeps the array alone");
	if (t.remove && t.common.frame_offset > 0)
		return cli_command_misuse(
			self, "--rm cannot remove a part of a file");
	return cli_transform_run(self, &t, argv + optind);
}

const struct cli_command cli_convert_command = {
	.name = "convert",
	.summary = "copy frames, sparse to contiguous and back",
	.help = help,
	.options = table,
	.missing = "a frame is missing",
	.run = run_convert,
};
