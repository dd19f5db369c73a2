/* SPDX-License-Identifier: BSD-3-Clause */
/* escape.c - escapes foreign bytes for terminals and JSON */
#include "meta/escape.h"

#include <stdlib.h>

#include "base/utf8.h"

/* Length of the printable character at @text; 0 if it has to be escaped. */
static size_t printable(const char *text, size_t len)
{
	size_t n = 0;
	uint32_t c;

	/* Controls of C0 and C1, too, have to be. */
	return b2f_utf8_next(text, len, &n, &c) && c >= 0x20 &&
			       (c < 0x7f || c >= 0xa0)
		       ? n
		       : 0;
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
