/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - the values of options */
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/message.h"

#define THREADS_MAX 1024

static int refuse(const char *option, const char *text, const char *what)
{
	cli_message_error("%s: '%s' is not a %s", option, text, what);
	return -EINVAL;
}

/* Bits that suffix @text shifts by; -1 if it is none. */
static int suffix_shift(const char *text)
{
	static const char units[] = "kmgt";
	const char *unit;

	if (!text[0])
		return 0;
	unit = strchr(units, text[0] | 0x20);
	if (!unit || (text[1] && strcasecmp(text + 1, "ib") != 0))
		return -1;
	return 10 * (int)(unit - units + 1);
}

static int parse_size(const char *text, uint64_t *out)
{
	unsigned long long value;
	char *end;
	int shift;

	/* strtoull() would take a sign and spaces. */
	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	shift = suffix_shift(end);
	if (errno || shift < 0 || value > (uint64_t)INT64_MAX >> shift)
		return -EINVAL;
	*out = value << shift;
	return 0;
}

int cli_options_size(const char *option, const char *text, uint64_t *out)
{
	return parse_size(text, out) ? refuse(option, text, "size") : 0;
}

int cli_options_position(const char *option, const char *text, uint64_t *out,
			 bool *from_end)
{
	bool minus = text[0] == '-';

	if (parse_size(text + minus, out))
		return refuse(option, text, "position");
	*from_end = minus;
	return 0;
}

int cli_options_threads(const char *option, const char *text, unsigned int *out)
{
	uint64_t value;

	if (parse_size(text, &value) || value > THREADS_MAX)
		return refuse(option, text, "number of threads");
	*out = (unsigned int)value;
	return 0;
}
