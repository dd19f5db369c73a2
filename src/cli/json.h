/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - what a command says on standard output: objects, or text of them
 *
 * With --json that is one object, or an array of them, as docs/json.md lists them;
 * else the same by a template (show.h).  An operand that fails is an object, too.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_JSON_H
#define B2F_CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

/* The row of --json for the options of any command, and its function. */
extern const struct cli_option cli_json_option[];
cli_option_fn cli_json_want;

/* Was --json given? */
bool cli_json_wanted(void);

/* A file name; bytes that are not UTF-8 are escaped. */
json_t *cli_json_name(const char *name);

/* @nbytes / @cbytes; 0 if that is no number. */
json_t *cli_json_ratio(uint64_t nbytes, uint64_t cbytes);

/* Begins an array, if @several; cli_json_end() ends it.  Only for --json. */
void cli_json_begin(bool several);
void cli_json_end(void);

/* Prints @object, and frees it. */
void cli_json_print(json_t *object);

/* The same with --json; else as text, by @text, with @name. */
void cli_json_say(const char *text, const char *name, json_t *object);

/*
 * With --json an object: @command failed on @source (which may be NULL), and why,
 * by cli_message_first().
 */
void cli_json_fail(const char *command, const char *source);

/* How many objects were printed. */
uint64_t cli_json_count(void);

/*
 * The command ends with @status: one that failed and has printed nothing prints
 * cli_json_fail() if --json is among @argv.
 */
void cli_json_finish(const char *command, int status, char **argv);

#endif
