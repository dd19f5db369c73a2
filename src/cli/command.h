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

#include <stdbool.h>
#include <stddef.h>

struct cli_operand;
struct cli_option;

/* @options: of the command.  Returns 0, or an errno after printing it. */
typedef int cli_operand_fn(void *options, const struct cli_operand *operand);

struct cli_command {
	const char *name;
	/* The name that archivers use for it; or NULL. */
	const char *letter;
	/* For the list of commands: a few words, no full stop. */
	const char *summary;
	/* For the usage; NULL: there are none. */
	const char *operands;
	/* Text of --help before the options; and after them, or NULL. */
	const char *help;
	const char *notes;
	/*
	 * Rows for cli_options_parse(); the bytes of the struct that they fill,
	 * and its values before them, NULL: zeros.
	 */
	const struct cli_option *options;
	size_t size;
	const void *start;
	/*
	 * Messages if there is no operand, or more than one; NULL: that is
	 * possible.
	 */
	const char *missing;
	const char *several;
	/*
	 * If not NULL: takes arguments out of @argv that only look like
	 * options, before these are parsed.  Returns the new @argc.
	 */
	int (*prepare)(void *options, int argc, char **argv);
	/* Called by cli_operands_run() for each operand. */
	cli_operand_fn *each;
	/*
	 * Runs the command with the struct @options and the operands before a
	 * NULL.  Returns an exit code.
	 */
	int (*run)(const struct cli_command *self, void *options,
		   char **operands);
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

/* Why a command line is wrong, if @is; a table ends with an empty one. */
struct cli_misuse {
	bool is;
	const char *reason;
};

/* Looks for the first misuse that is.  Returns CLI_CONTINUE or the status. */
int cli_command_check(const struct cli_command *self,
		      const struct cli_misuse *misuses);

#endif
