/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - results on standard output: objects, or text made from them
 *
 * With --json a command prints one object, or an array of objects, as
 * docs/json.md lists them; without, the text that a template (show.h) makes of
 * the object.  An operand that fails is an object, too.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_JSON_H
#define B2F_CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

/* The row of --json for the options of a command, and its function. */
extern const struct cli_option cli_json_option[];
cli_option_fn cli_json_want;

/* Was --json given? */
bool cli_json_wanted(void);

/* A file name, or a URL without its query; bytes that are not UTF-8 are
 * escaped. */
json_t *cli_json_name(const char *name);

/* @nbytes / @cbytes; 0 if @cbytes is 0. */
json_t *cli_json_ratio(uint64_t nbytes, uint64_t cbytes);

/* With --json: begins an array, if @several; cli_json_end() ends it. */
void cli_json_begin(bool several);
void cli_json_end(void);

/* Prints @object, and frees it. */
void cli_json_print(json_t *object);

/* Like it with --json; else prints the text by the template @text. */
void cli_json_say(const char *text, const char *name, json_t *object);

/*
 * With --json prints an object: @command failed on @source (which may be NULL)
 * because of cli_message_first().
 */
void cli_json_fail(const char *command, const char *source);

/* Number of printed objects. */
uint64_t cli_json_count(void);

/*
 * Ends the command with @status: if it failed without printing an object, calls
 * cli_json_fail() if --json is in @argv.
 */
void cli_json_finish(const char *command, int status, char **argv);

#endif
