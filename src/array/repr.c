/* SPDX-License-Identifier: BSD-3-Clause */
/* repr.c - how Python prints strings and tuples */
#include "array/repr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

int b2f_repr_end(FILE *out)
{
	bool failed = ferror(out) != 0;

	return fclose(out) != 0 || failed ? -ENOMEM : 0;
}

void b2f_repr_tuple(FILE *out, const int64_t *values, size_t n)
{
	fputc('(', out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%" PRId64, i > 0 ? ", " : "", values[i]);
	fputs(n == 1 ? ",)" : ")", out);
}

struct range {
	uint32_t first;
	uint32_t last;
};

/*
 * Characters that are never printed as they are: controls, formats, separators
 * other than the space, surrogates, private ones, those that no Unicode version
 * will ever give a meaning, and whole planes that are empty.
 */
static const struct range unprintable[] = {
	{0x00, 0x1f},	    {0x7f, 0xa0},	 {0xad, 0xad},
	{0x600, 0x605},	    {0x61c, 0x61c},	 {0x6dd, 0x6dd},
	{0x70f, 0x70f},	    {0x890, 0x891},	 {0x8e2, 0x8e2},
	{0x1680, 0x1680},   {0x180e, 0x180e},	 {0x2000, 0x200f},
	{0x2028, 0x202f},   {0x205f, 0x206f},	 {0x3000, 0x3000},
	{0xd800, 0xf8ff},   {0xfdd0, 0xfdef},	 {0xfeff, 0xfeff},
	{0xfff0, 0xfffb},   {0x110bd, 0x110bd},	 {0x110cd, 0x110cd},
	{0x13430, 0x1343f}, {0x1bca0, 0x1bca3},	 {0x1d173, 0x1d17a},
	{0x40000, 0xe00ff}, {0xe01f0, 0x10ffff},
};

static bool is_printable(uint32_t c)
{
	size_t n = sizeof(unprintable) / sizeof(unprintable[0]);

	for (size_t i = 0; i < n && unprintable[i].first <= c; i++)
		if (c <= unprintable[i].last)
			return false;
	return (c & 0xfffe) != 0xfffe;
}

static const char *short_escape(uint32_t c, char quote)
{
	switch (c) {
	case '\t':
		return "\\t";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\\':
		return "\\\\";
	case '\'':
		return quote == '\'' ? "\\'" : NULL;
	default:
		return NULL;
	}
}

static void put_char(FILE *out, uint32_t c, char quote)
{
	const char *known = short_escape(c, quote);
	char text[B2F_UTF8_MAX];

	if (known)
		fputs(known, out);
	else if (is_printable(c))
		fwrite(text, 1, b2f_utf8_put(c, text), out);
	else if (c < 0x100)
		fprintf(out, "\\x%02" PRIx32, c);
	else if (c < 0x10000)
		fprintf(out, "\\u%04" PRIx32, c);
	else
		fprintf(out, "\\U%08" PRIx32, c);
}

void b2f_repr_string(FILE *out, const char *text, size_t len)
{
	bool has_single = memchr(text, '\'', len) != NULL;
	bool has_double = memchr(text, '"', len) != NULL;
	char quote = has_single && !has_double ? '"' : '\'';
	uint32_t c;

	fputc(quote, out);
	for (size_t pos = 0; pos < len;) {
		if (!b2f_utf8_next(text, len, &pos, &c))
			break;
		put_char(out, c, quote);
	}
	fputc(quote, out);
}
