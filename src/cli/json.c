/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c - results on standard output: objects, or text made from them */
#include "cli/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit_codes.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/show.h"
#include "cli/text.h"
#include "meta/escape.h"

/* The "schema" of all objects; docs/json.md tells when it changes. */
#define SCHEMA 1

/* Enough digits to round-trip a number written with at most 15. */
#define DIGITS JSON_REAL_PRECISION(15)

/* One per process, like stdout. */
static struct {
	bool wanted;
	bool is_array;
	uint64_t nprinted;
} list;

int cli_json_want(const struct cli_option *option, void *field, const char *value)
{
	(void)option;
	(void)field;
	(void)value;
	list.wanted = true;
	return 0;
}

const struct cli_option cli_json_option[] = {
	CLI_OPTION("json", 0, NULL, cli_json_want, 0, "print the result as JSON"),
	{0},
};

bool cli_json_wanted(void)
{
	return list.wanted;
}

json_t *cli_json_name(const char *name)
{
	return b2f_escape_json(name, cli_text_shown(name));
}

json_t *cli_json_ratio(uint64_t nbytes, uint64_t cbytes)
{
	double ratio = cbytes ? (double)nbytes / (double)cbytes : 0;

	/* Four decimals are enough. */
	return json_real(ratio < 1e9 ? (double)(int64_t)(ratio * 1e4 + .5) / 1e4
				     : ratio);
}

void cli_json_begin(bool several)
{
	list.is_array = several && list.wanted;
	if (list.is_array)
		putchar('[');
}

void cli_json_print(json_t *object)
{
	json_t *all = json_pack("{s:i}", "schema", SCHEMA);
	B2F_OWN char *text = NULL;

	json_object_update_missing(all, object);
	text = cli_need(
		json_dumps(all, DIGITS | (list.is_array ? 0 : JSON_INDENT(2))));
	if (list.is_array)
		fputs(list.nprinted ? ",\n" : "\n", stdout);
	list.nprinted++;
	fputs(text, stdout);
	if (!list.is_array)
		putchar('\n');
	json_decref(all);
	json_decref(object);
}

void cli_json_say(const char *text, const char *name, json_t *object)
{
	if (list.wanted) {
		cli_json_print(object);
		return;
	}
	cli_show(stdout, text, name, object);
	json_decref(object);
}

void cli_json_fail(const char *command, const char *source)
{
	char text[CLI_MESSAGE_MAX];

	if (!list.wanted)
		return;
	cli_message_first(text);
	cli_json_print(json_pack("{s:s, s:o*, s:o*}", "command", command,
				 "source",
				 source ? cli_json_name(source) : NULL, "error",
				 b2f_escape_json(text, strlen(text))));
}

uint64_t cli_json_count(void)
{
	return list.nprinted;
}

void cli_json_end(void)
{
	if (list.is_array)
		puts(list.nprinted ? "\n]" : "]");
}

void cli_json_finish(const char *command, int status, char **argv)
{
	/* The command line was refused, perhaps before --json was parsed. */
	while (status == CLI_EXIT_USAGE && *argv && strcmp(*argv, "--") != 0)
		list.wanted = strcmp(*argv++, "--json") == 0 || list.wanted;
	if (status != CLI_EXIT_OK && list.nprinted == 0 && !list.is_array)
		cli_json_fail(command, NULL);
}
