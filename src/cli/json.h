/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - what several commands print as JSON
 *
 * The output of --json: one object, or an array of them.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_JSON_H
#define B2F_CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A file name; of one that is no UTF-8 its bytes, escaped. */
json_t *cli_json_name(const char *name);

/* Begins an array, if @several; cli_json_end() ends it. */
void cli_json_begin(bool several);

/* Prints @object, and frees it. */
void cli_json_print(json_t *object);

/* The same for an object that is text already. */
void cli_json_print_text(const char *text);

/* How many were printed. */
uint64_t cli_json_count(void);

void cli_json_end(void);

#endif
