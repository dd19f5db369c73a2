/* SPDX-License-Identifier: BSD-3-Clause */
/* escape.c - escapes foreign bytes for terminals and JSON */
#include "meta/escape.h"

#include <stdbool.h>
#include <stdlib.h>

/* Bytes of the UTF-8 sequence that begins with @c; 0 if none does. */
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

/*
 * True for C1 controls, for overlong forms, and for code points that are no
 * characters: surrogates, and above U+10FFFF.
 */
static bool is_disguised(const unsigned char *p)
{
	return (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xe0 && p[1] < 0xa0) ||
	       (p[0] == 0xed && p[1] >= 0xa0) ||
	       (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90);
}

/* Length of the printable character at @text; 0 if it has to be escaped. */
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

void b2f_escape_put(FILE *out, const char *text, size_t len)
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

json_t *b2f_escape_json(const char *text, size_t len)
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
	b2f_escape_put(stream, text, len);
	if (fclose(stream) == 0)
		string = json_string(escaped);
	free(escaped);
	return string;
}
