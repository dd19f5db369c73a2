/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h - tables of options, their parser, and their help
 *
 * A command has one table.  A row tells where in the command's struct the value
 * is stored, and the text of --help, which keeps the order of the rows.
 * Options of several commands are in a table of their own, to which a row of
 * the others refers.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_OPTIONS_H
#define B2F_CLI_OPTIONS_H

#include <stddef.h>

#include "b2frame/error.h"
#include "cli/command.h"

struct cli_option;

/*
 * Stores the value of @option in @field; @value is NULL if it takes none.
 * Returns 0, or -EINVAL after a message on stderr.
 */
typedef int cli_option_fn(const struct cli_option *option, void *field,
			  const char *value);

/* A row; a table ends with an empty one. */
struct cli_option {
	/* Without dashes; NULL: only a letter. */
	const char *name;
	/*
	 * 0: only a name; '1' stands for the digits 1 to 9.  For @store: the
	 * letter that the user wrote, or 0.
	 */
	char letter;
	/* The value's name in --help; NULL: it takes none. */
	const char *value;
	cli_option_fn *store;
	/* Bytes from the start of the struct to the field. */
	size_t field;
	/* Lines, without the last newline; NULL: not in --help. */
	const char *help;
	/* Instead: rows for the struct at @field. */
	const struct cli_option *shared;
	/* If not NULL: the struct that has the field. */
	void *base;
};

#define CLI_OPTION(name_, letter_, value_, store_, field_, help_)              \
	{                                                                      \
		.name = name_, .letter = letter_, .value = value_,             \
		.store = store_, .field = field_, .help = help_                \
	}

/* A row that sets a bool, for a file that defines FIELD(). */
#define CLI_FLAG(name_, letter_, field_, help_)                                \
	CLI_OPTION(name_, letter_, NULL, cli_option_set, FIELD(field_), help_)

/* The environment variable with the name of @option; or NULL. */
const char *cli_option_environment(const struct cli_option *option);

/*
 * Prints that @text, the value of @option or of its environment variable, is
 * not @what, as "a size".  Returns -EINVAL.
 */
int cli_option_refuse(const struct cli_option *option, const char *text,
		      const char *what);

/* Stores true, or false, in a bool. */
cli_option_fn cli_option_set;
cli_option_fn cli_option_clear;

/* Stores a const char *, which points into argv. */
cli_option_fn cli_option_text;

/* Stores a uint64_t: a number of bytes (b2f_value_size()). */
cli_option_fn cli_option_size;

/* Stores an unsigned int: a number of threads, 0 to 1024. */
cli_option_fn cli_option_threads;

/*
 * Parses the options of @self in @argv into the struct @values; the operands
 * begin at optind.  Every command has --help and -h as well.
 *
 * Returns CLI_CONTINUE, or an exit code if help was printed or an option is
 * wrong.
 */
B2F_MUST_CHECK
int cli_options_parse(const struct cli_command *self, int argc, char **argv,
		      void *values);

/* Prints the help of @self to stdout.  Returns CLI_EXIT_OK. */
int cli_options_help(const struct cli_command *self);

#endif
