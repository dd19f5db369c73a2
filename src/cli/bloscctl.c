/* SPDX-License-Identifier: BSD-3-Clause */
/* bloscctl.c - finds the command and runs it */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/names.h"
#include "b2frame/version.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/options.h"
#include "words/value.h"

static const struct cli_command *const commands[] = {
	&cli_append_command,	 &cli_bench_command,  &cli_cat_command,
	&cli_compress_command,	 &cli_convert_command, &cli_copy_command,
	&cli_decompress_command, &cli_info_command,    &cli_ls_command,
	&cli_mounts_command,	 &cli_recompress_command, &cli_repair_command,
	&cli_rm_command,	 &cli_seal_command,    &cli_slice_command,
	&cli_stats_command,	 &cli_top_command,     &cli_umount_command,
	&cli_verify_command,
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static int print_help(void)
{
	puts("Usage: bloscctl COMMAND [OPTION...] [FRAME...]\n"
	     "Makes, shows, checks, changes, unpacks and removes Blosc2 frames.\n");
	for (size_t i = 0; i < NCOMMANDS; i++)
		printf("  %-12s%s\n", commands[i]->name, commands[i]->summary);
	puts("\n"
	     "  --help      this text; 'bloscctl COMMAND --help' for a "
	     "command\n"
	     "  --version   versions of bloscctl and of its codecs\n\n"
	     "A FRAME is a sparse frame (a directory) or a contiguous one (a "
	     "file).\n"
	     "Short for compress, decompress, info, ls and verify: c, d, i, "
	     "l, t.\n"
	     "Sizes take k, m, g or t, which are powers of 1024.\n"
	     "Exit status: 0 done, 1 failure, 2 usage; verify: 0 sound, "
	     "1 damage,\n"
	     "2 not checked.");
	return CLI_EXIT_OK;
}

static int print_version(void)
{
	printf("bloscctl %s\nlz4 %s\nzstd %s\nzlib %s\n", B2F_VERSION,
	       b2f_codec_lz4_version(), b2f_codec_zstd_version(), b2f_codec_zlib_version());
	printf("codecs: %s\nfeatures: %s\n", b2f_codecs(), b2f_features());
	return CLI_EXIT_OK;
}

static const struct cli_command *find_command(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++) {
		const char *letter = commands[i]->letter;

		if (strcmp(commands[i]->name, name) == 0 ||
		    (letter && strcmp(letter, name) == 0))
			return commands[i];
	}
	return NULL;
}

/* The command name closest to @name, or NULL. */
static const char *nearest_command(const char *name)
{
	struct b2f_nearest nearest = {name, strlen(name) < 4 ? 2 : 3, NULL};

	for (size_t i = 0; i < NCOMMANDS; i++)
		b2f_value_nearest(&nearest, commands[i]->name);
	return nearest.found;
}

static int refuse_command(const char *name)
{
	const char *nearest = nearest_command(name);

	return nearest ? cli_refuse(CLI_EXIT_USAGE,
				    "there is no command '%s'; "
				    "did you mean '%s'?",
				    name, nearest)
		       : cli_refuse(CLI_EXIT_USAGE,
				    "there is no command '%s'; "
				    "see 'bloscctl --help'",
				    name);
}

/* @argv[0] is the name of the command. */
static int run(const struct cli_command *command, int argc, char **argv)
{
	B2F_OWN void *options = cli_need(calloc(1, command->size + 1));
	int status;

	if (command->start)
		memcpy(options, command->start, command->size);
	if (command->prepare)
		argc = command->prepare(options, argc, argv);
	status = cli_options_parse(command, argc, argv, options);
	return status == CLI_CONTINUE
		       ? command->run(command, options, argv + optind)
		       : status;
}

static int run_command(int argc, char **argv)
{
	const struct cli_command *command = find_command(argv[0]);
	int status;

	if (!command)
		return refuse_command(argv[0]);
	status = run(command, argc, argv);
	cli_json_finish(command->name, status, argv + 1);
	return status;
}

static int help_on(const char *name)
{
	const struct cli_command *command = name ? find_command(name) : NULL;

	return command ? cli_options_help(command) : print_help();
}

/* umount(8) runs umount.bloscfs or umount.fuse.bloscfs. */
static bool is_umount(const char *program)
{
	return strncmp(basename(program), "umount.", 7) == 0;
}

static int dispatch(int argc, char **argv)
{
	if (argc > 0 && is_umount(argv[0]))
		return run(&cli_umount_command, argc, argv);
	if (argc < 2)
		return cli_refuse(CLI_EXIT_USAGE, "a command is missing; see "
						  "'bloscctl --help'");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help_on(argv[2]);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return print_version();
	return run_command(argc - 1, argv + 1);
}

/*
 * A closed standard stream must not become the descriptor of a frame, or
 * messages would be written into it.  Opened so that its use still fails.
 */
static void fill_standard_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			exit(CLI_EXIT_FAILURE);
}

/*
 * Points @argv to copies, and hides queries in the originals, which other users
 * can read.  Returns the memory of the copies.
 */
static char *hide_queries(char **argv)
{
	size_t nbytes = 1, n;
	char *copies, *at;

	for (char **word = argv; *word; word++)
		nbytes += strlen(*word) + 1;
	copies = at = cli_need(malloc(nbytes));
	for (; *argv; argv++, at += n) {
		n = strlen(*argv) + 1;
		memcpy(at, *argv, n);
		b2f_value_hide_query(*argv);
		*argv = at;
	}
	return copies;
}

int main(int argc, char **argv)
{
	B2F_OWN char *copies = NULL;

	fill_standard_streams();
	copies = hide_queries(argv);
	return cli_message_finish(dispatch(argc, argv));
}
