/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h - tables of options, the parser that walks them, and their help
 *
 * A command has one table, whose rows say where in the command's struct a value
 * belongs, and what --help tells of it, in the order of the rows.  Options that several
 * commands have are a table of their own, which a row of the others names.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_OPTIONS_H
#define B2F_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* For optind. */
#include <unistd.h>

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
	/*
	 * 0: it has a name only; or, as @store gets it, the user wrote that.  '1' stands
	 * for all digits up to 9.
	 */
	char letter;
	/* What --help calls its value; NULL: it takes none. */
	const char *value;
	cli_option_fn *store;
	/* Bytes from the start of the struct to the field. */
	size_t field;
	/* Lines without the last end; NULL: --help leaves it out. */
	const char *help;
	/* Instead of all that: rows for the struct at @field, or @base. */
	const struct cli_option *shared;
	void *base;
};

#define CLI_OPTION(name_, letter_, value_, store_, field_, help_)              \
	{                                                                      \
		.name = name_, .letter = letter_, .value = value_,             \
		.store = store_, .field = field_, .help = help_                \
	}

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

/* A uint64_t: a number of bytes (b2f_value_size()). */
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

/* Prints the help of @self to stdout.  Returns CLI_EXIT_OK. */
int cli_options_help(const struct cli_command *self);

#endif
