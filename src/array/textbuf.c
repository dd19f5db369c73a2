/* SPDX-License-Identifier: BSD-3-Clause */
/* textbuf.c - a text that grows, and how Python prints into it */
#include "array/textbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/utf8.h"

#define ROOM_MIN ((size_t)128)

void b2f_textbuf_fini(struct b2f_textbuf *buf)
{
	free(buf->data);
	*buf = (struct b2f_textbuf){0};
}

static bool grow(struct b2f_textbuf *buf, size_t len)
{
	size_t room = buf->room ? buf->room : ROOM_MIN;
	char *data;

	if (buf->failed || len > SIZE_MAX / 4 - buf->len)
		return false;
	while (room < buf->len + len)
		room *= 2;
	if (room == buf->room)
		return true;
	data = realloc(buf->data, room);
	if (!data)
		return false;
	buf->data = data;
	buf->room = room;
	return true;
}

void b2f_textbuf_add(struct b2f_textbuf *buf, const char *text, size_t len)
{
	if (!grow(buf, len)) {
		buf->failed = true;
		return;
	}
	if (len)
		memcpy(buf->data + buf->len, text, len);
	buf->len += len;
}

void b2f_textbuf_puts(struct b2f_textbuf *buf, const char *text)
{
	b2f_textbuf_add(buf, text, strlen(text));
}

void b2f_textbuf_put_u64(struct b2f_textbuf *buf, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	b2f_textbuf_puts(buf, digits);
}

void b2f_textbuf_put_tuple(struct b2f_textbuf *buf, const int64_t *values,
			   size_t n)
{
	b2f_textbuf_puts(buf, "(");
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			b2f_textbuf_puts(buf, ", ");
		b2f_textbuf_put_u64(buf, (uint64_t)values[i]);
	}
	b2f_textbuf_puts(buf, n == 1 ? ",)" : ")");
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

static void put_char(struct b2f_textbuf *buf, uint32_t c, char quote)
{
	const char *known = short_escape(c, quote);
	char text[16];

	if (known) {
		b2f_textbuf_puts(buf, known);
		return;
	}
	if (is_printable(c))
		text[b2f_utf8_put(c, text)] = '\0';
	else if (c < 0x100)
		snprintf(text, sizeof(text), "\\x%02" PRIx32, c);
	else if (c < 0x10000)
		snprintf(text, sizeof(text), "\\u%04" PRIx32, c);
	else
		snprintf(text, sizeof(text), "\\U%08" PRIx32, c);
	b2f_textbuf_puts(buf, text);
}

void b2f_textbuf_put_repr(struct b2f_textbuf *buf, const char *text, size_t len)
{
	bool has_single = memchr(text, '\'', len) != NULL;
	bool has_double = memchr(text, '"', len) != NULL;
	char quote = has_single && !has_double ? '"' : '\'';
	uint32_t c;

	b2f_textbuf_add(buf, &quote, 1);
	for (size_t pos = 0; pos < len;) {
		if (!b2f_utf8_next(text, len, &pos, &c))
			break;
		put_char(buf, c, quote);
	}
	b2f_textbuf_add(buf, &quote, 1);
}

int b2f_textbuf_take(struct b2f_textbuf *buf, char **text, size_t *len)
{
	b2f_textbuf_add(buf, "", 1);
	if (buf->failed)
		return -ENOMEM;
	if (len)
		*len = buf->len - 1;
	*text = buf->data;
	*buf = (struct b2f_textbuf){0};
	return 0;
}
