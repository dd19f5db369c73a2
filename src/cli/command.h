/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.h - the commands of bloscctl
 *
 * Each cmd_NAME.c defines one object; bloscctl.c has the table of them.
 *
 * Layer: cli.
 */
#ifndef B2F_CLI_COMMAND_H
#define B2F_CLI_COMMAND_H

struct cli_option;

struct cli_command {
	const char *name;
	/* For the list of commands: a few words, no full stop. */
	const char *summary;
	/*
	 * Text of --help: usage, before the options; and after them, or NULL.
	 */
	const char *help;
	const char *notes;
	/* Rows for cli_options_parse(). */
	const struct cli_option *options;
	/* Message if there is no operand; NULL: none is needed. */
	const char *missing;
	/* Runs the command; argv[0] is its name.  Returns an exit code. */
	int (*run)(const struct cli_command *self, int argc, char **argv);
};

extern const struct cli_command cli_append_command;
extern const struct cli_command cli_bench_command;
extern const struct cli_command cli_cat_command;
extern const struct cli_command cli_compress_command;
extern const struct cli_command cli_convert_command;
extern const struct cli_command cli_copy_command;
extern const struct cli_command cli_decompress_command;
extern const struct cli_command cli_info_command;
extern const struct cli_command cli_ls_command;
extern const struct cli_command cli_mounts_command;
extern const struct cli_command cli_recompress_command;
extern const struct cli_command cli_repair_command;
extern const struct cli_command cli_rm_command;
extern const struct cli_command cli_seal_command;
extern const struct cli_command cli_slice_command;
extern const struct cli_command cli_stats_command;
extern const struct cli_command cli_top_command;
extern const struct cli_command cli_umount_command;
extern const struct cli_command cli_verify_command;

/*
 * Prints @reason, a clause, on stderr, and how to get help.  Returns
 * CLI_EXIT_USAGE.
 */
int cli_command_misuse(const struct cli_command *self, const char *reason);

#endif
