/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h - tables of options, and the parser that walks them
 *
 * A command has one table, whose rows say where in the command's struct a value
 * belongs.  Options that several commands have are a table of their own, which
 * a row of the others names.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_OPTIONS_H
#define B2F_CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/error.h"
#include "cli/command.h"

struct cli_option;

/*
 * Stores what the user said with @option at @field; @value is NULL if it takes
 * none.  Returns 0, or -EINVAL after saying on stderr what is wrong.
 */
typedef int cli_option_fn(const struct cli_option *option, void *field,
			  const char *value);

/* A row; a table ends with an empty one. */
struct cli_option {
	/* Without dashes; NULL: it has a letter only. */
	const char *name;
	/* 0: it has a name only; or, as @store gets it, the user wrote that. */
	char letter;
	/* no_argument or required_argument. */
	int has_arg;
	cli_option_fn *store;
	/* Bytes from the start of the struct to the field. */
	size_t field;
	/* Instead of all but @field: rows for the struct that is there. */
	const struct cli_option *shared;
};

/* The variable of the environment that is called as @option; or NULL. */
const char *cli_option_environment(const struct cli_option *option);

/*
 * Says that @text, given with @option, as the user wrote it, or a variable of the
 * environment that is called so, is not @what, as "a size".  Returns -EINVAL.
 */
int cli_option_refuse(const struct cli_option *option, const char *text,
		      const char *what);

/* The field is a bool, which becomes true, or false. */
cli_option_fn cli_option_set;
cli_option_fn cli_option_clear;

/* A const char *, which points into argv. */
cli_option_fn cli_option_text;

/*
 * A uint64_t: a number of bytes, at most INT64_MAX: digits, then k, m, g or t
 * (1024 each), with or without "iB".
 */
cli_option_fn cli_option_size;

/* A struct cli_position: a size that may have a sign. */
cli_option_fn cli_option_position;

/* An unsigned int: a number of threads, 0 to 1024. */
cli_option_fn cli_option_threads;

struct cli_position {
	uint64_t offset;
	/* There was a minus. */
	bool from_end;
};

/*
 * Takes the options of @self out of @argv into the struct @values; the operands
 * begin at optind.  Every command has --help and -h as well.
 *
 * Returns CLI_CONTINUE, or the exit code of a command that is done: the help
 * was printed, or what is wrong with the options.
 */
B2F_MUST_CHECK
int cli_options_parse(const struct cli_command *self, int argc, char **argv,
		      void *values);

#endif
