/* SPDX-License-Identifier: BSD-3-Clause */
/* text.c - sizes, names and bytes for people to read, and paths from them */
#include "cli/text.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/need.h"
#include "meta/escape.h"

const char *cli_text_size(uint64_t nbytes, char buf[CLI_TEXT_SIZE])
{
	static const char units[] = "KMGTPE";
	double value = (double)nbytes;
	int unit = -1;

	if (nbytes < 1024) {
		snprintf(buf, CLI_TEXT_SIZE, "%u B", (unsigned int)nbytes);
		return buf;
	}
	/* 1023.95 would be rounded to 1024.0: use the next unit. */
	while (value >= 1023.95 && unit < 5) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, CLI_TEXT_SIZE, "%.1f %ciB", value, units[unit]);
	return buf;
}

size_t cli_text_store(const char *url)
{
	for (const char *at = url; (at = strstr(at, ".b2")); at++)
		if (at > url && strchr("ze", at[3]) && at[3] &&
		    (!at[4] || at[4] == '/'))
			return (size_t)(at + 4 - url);
	return 0;
}

size_t cli_text_shown(const char *name)
{
	bool is_web = strncmp(name, "http://", 7) == 0 ||
		      strncmp(name, "https://", 8) == 0;
	size_t n = strcspn(name, "?#"), store = cli_text_store(name);
	bool leads_in = store && name[store] && store <= n;

	return is_web && !leads_in ? n : strlen(name);
}

char *cli_text_name(FILE *out, const char *name)
{
	size_t n = cli_text_shown(name), size;
	char *text = NULL;
	FILE *to;

	/* A name must not look like two lines, or end a line. */
	if (!isatty(fileno(out)) && !strpbrk(name, "\n\r"))
		return cli_need_part(name, n);
	to = cli_need(open_memstream(&text, &size));
	b2f_escape_put(to, name, n);
	fclose(to);
	return text;
}

char *cli_text_join(const char *dir, const char *name)
{
	return cli_need_text("%s%s%s", dir, *dir && *name ? "/" : "", name);
}

char *cli_text_bare(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return cli_need_part(path, len);
}
