/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c - what several commands print as JSON */
#include "cli/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

/* A process has one stdout, hence one of these. */
static struct {
	bool is_array;
	bool has_first;
} list;

json_t *cli_json_text(const char *text, size_t len)
{
	json_t *string = json_stringn(text, len);
	char *escaped = NULL;
	size_t size = 0;
	FILE *stream;

	if (string)
		return string;
	stream = open_memstream(&escaped, &size);
	if (!stream)
		return NULL;
	cli_text_escape(stream, text, len);
	fclose(stream);
	string = json_string(escaped);
	free(escaped);
	return string;
}

json_t *cli_json_name(const char *name)
{
	return cli_json_text(name, strlen(name));
}

void cli_json_begin(bool several)
{
	list.is_array = several;
	if (several)
		putchar('[');
}

void cli_json_print(json_t *object)
{
	if (list.is_array)
		fputs(list.has_first ? ",\n" : "\n", stdout);
	list.has_first = true;
	json_dumpf(object, stdout, JSON_REAL_PRECISION(6));
	if (!list.is_array)
		putchar('\n');
	json_decref(object);
}

void cli_json_end(void)
{
	if (list.is_array)
		puts(list.has_first ? "\n]" : "]");
}
