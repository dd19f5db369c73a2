/* SPDX-License-Identifier: BSD-3-Clause */
/* text.c - sizes, names and bytes for people to read */
#include "cli/text.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

const char *cli_text_size(uint64_t nbytes, char buf[CLI_TEXT_SIZE])
{
	static const char units[] = "KMGTPE";
	double value = (double)nbytes;
	int unit = -1;

	if (nbytes < 1024) {
		snprintf(buf, CLI_TEXT_SIZE, "%u B", (unsigned int)nbytes);
		return buf;
	}
	/* What would be rounded to 1024.0 belongs to the next unit. */
	while (value >= 1023.95 && unit < 5) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, CLI_TEXT_SIZE, "%.1f %ciB", value, units[unit]);
	return buf;
}

const char *cli_text_ratio(uint64_t nbytes, uint64_t cbytes,
			   char buf[CLI_TEXT_SIZE])
{
	if (cbytes == 0)
		snprintf(buf, CLI_TEXT_SIZE, "-");
	else
		snprintf(buf, CLI_TEXT_SIZE, "%.2f",
			 (double)nbytes / (double)cbytes);
	return buf;
}

/* Bytes of the sequence that begins with @c; 0 if none does. */
static size_t sequence_length(unsigned char c)
{
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c < 0xe0)
		return 2;
	if (c >= 0xe0 && c < 0xf0)
		return 3;
	if (c >= 0xf0 && c < 0xf5)
		return 4;
	return 0;
}

/* True for C1 controls, and for overlong forms that may be taken for them. */
static bool is_disguised(const unsigned char *p)
{
	return (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xe0 && p[1] < 0xa0) ||
	       (p[0] == 0xf0 && p[1] < 0x90);
}

/* Length of the printable character at @text; 0 if there is none. */
static size_t printable(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n = sequence_length(p[0]);

	if (n == 0 || n > len)
		return 0;
	if (n == 1)
		return p[0] >= 0x20 && p[0] != 0x7f;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return is_disguised(p) ? 0 : n;
}

void cli_text_escape(FILE *out, const char *text, size_t len)
{
	while (len > 0) {
		size_t n = printable(text, len);

		if (n > 0) {
			fwrite(text, 1, n, out);
		} else {
			fprintf(out, "\\x%02x", (unsigned char)*text);
			n = 1;
		}
		text += n;
		len -= n;
	}
}

void cli_text_name(FILE *out, const char *name)
{
	if (isatty(fileno(out)))
		cli_text_escape(out, name, strlen(name));
	else
		fputs(name, out);
}
