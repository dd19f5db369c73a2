/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c - what several commands print as JSON */
#include "cli/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "meta/escape.h"

/* A process has one stdout, hence one of these. */
static struct {
	bool is_array;
	uint64_t nprinted;
} list;

json_t *cli_json_name(const char *name)
{
	return b2f_escape_json(name, strlen(name));
}

void cli_json_begin(bool several)
{
	list.is_array = several;
	if (several)
		putchar('[');
}

void cli_json_print_text(const char *text)
{
	if (list.is_array)
		fputs(list.nprinted ? ",\n" : "\n", stdout);
	list.nprinted++;
	fputs(text, stdout);
	if (!list.is_array)
		putchar('\n');
}

void cli_json_print(json_t *object)
{
	char *text = json_dumps(object, JSON_REAL_PRECISION(6));

	if (text)
		cli_json_print_text(text);
	else
		cli_message_error("%s", strerror(ENOMEM));
	free(text);
	json_decref(object);
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
