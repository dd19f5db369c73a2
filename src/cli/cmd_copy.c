/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_copy.c - bloscctl copy: frames and files as stored, to and from servers
 */
#include <errno.h>

#include "cli/exit_codes.h"
#include "cli/server.h"
#include "cli/transfer.h"

/* Chunks copied at a time: more than cores, as each waits for a server. */
#define JOBS 16

static const char help[] =
	"Usage: bloscctl copy [OPTION...] SOURCE DESTINATION\n"
	"Copies the frame or file SOURCE, as it is stored; with -r, all frames "
	"and files\nin the directory SOURCE. Both are paths or "
	"s3://BUCKET/KEY; SOURCE may be\nhttp(s)://, too. Chunks are not "
	"decoded. If a copy is interrupted, the same\ncommand goes on where it "
	"ended.\n\n";

#define FIELD(name) offsetof(struct cli_transfer, name)

static const struct cli_option table[] = {
	CLI_OPTION("recursive", 'r', NULL, cli_option_set, FIELD(common.recursive),
	 "all frames and files below SOURCE"),
	CLI_OPTION("force", 'f', NULL, cli_option_set, FIELD(common.force),
	 "replace an existing DESTINATION"),
	CLI_OPTION("threads", 'T', "N", cli_option_threads, FIELD(common.nthreads),
	 "copy N chunks at a time (16)"),
	CLI_OPTION("jobs", 0, "N", cli_option_threads, FIELD(common.nthreads), "the same"),
	{.shared = cli_common_talk_options},
	{.shared = cli_server_reading_options},
	{.shared = cli_server_new_object_options},
	{0},
};

static int run_copy(const struct cli_command *self, void *transfer,
		    char **paths)
{
	struct cli_transfer *t = transfer;
	int status = CLI_EXIT_FAILURE;

	if (!paths[1] || paths[2])
		return cli_command_misuse(self, "it takes a source and a "
						"destination");
	if (t->common.nthreads == 0)
		t->common.nthreads = JOBS;
	t->common.output = paths[1];
	paths[1] = NULL;
	if (!cli_transfer_begin(t, t->common.output))
		status = cli_operands_run(self, t, paths);
	cli_transfer_end(t);
	return status;
}

static const struct cli_transfer start = {.common.all = true,
					  .common.exact = true,
					  .common.to_url = true};

const struct cli_command cli_copy_command = {
	.name = "copy",
	.summary = "copy frames and files as they are, also to and from servers",
	.help = help,
	.options = table,
	.size = sizeof(start),
	.start = &start,
	.missing = "a source is missing",
	.each = cli_transfer_run,
	.run = run_copy,
};
