/* SPDX-License-Identifier: BSD-3-Clause */
/* need.c - memory for names, lists and texts */
#include "cli/need.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit_codes.h"

static int failure = CLI_EXIT_FAILURE;

void cli_need_fail_as(int status)
{
	failure = status;
}

void *cli_need(void *memory)
{
	if (memory)
		return memory;
	/* Messages need memory themselves. */
	fprintf(stderr, "bloscctl: %s\n", strerror(ENOMEM));
	exit(failure);
}

char *cli_need_copy(const char *text)
{
	return cli_need(strdup(text));
}

char *cli_need_part(const char *text, size_t n)
{
	return cli_need(strndup(text, n));
}

char *cli_need_text(const char *fmt, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	return cli_need(n < 0 ? NULL : text);
}

/* The array doubles whenever @n is a power of two. */
void *cli_need_room(void *items, size_t n, size_t size)
{
	if (n & (n - 1))
		return items;
	return cli_need(reallocarray(items, n ? 2 * n : 1, size));
}
