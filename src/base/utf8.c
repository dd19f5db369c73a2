/* SPDX-License-Identifier: BSD-3-Clause */
/* utf8.c - Unicode characters as bytes */
#include "base/utf8.h"

/* Bytes that follow the first one; -1 if none can be a first one. */
static int followers(uint8_t first)
{
	if (first < 0x80)
		return 0;
	if (first < 0xc2)
		return -1;
	if (first < 0xe0)
		return 1;
	if (first < 0xf0)
		return 2;
	return first < 0xf5 ? 3 : -1;
}

bool b2f_utf8_next(const char *text, size_t len, size_t *pos, uint32_t *out)
{
	static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
	uint8_t first = (uint8_t)text[*pos];
	int n = followers(first);
	uint32_t c;

	if (n < 0 || (size_t)n >= len - *pos)
		return false;
	c = n == 0 ? first : first & (0x3fu >> n);
	for (int i = 1; i <= n; i++) {
		uint8_t byte = (uint8_t)text[*pos + (size_t)i];

		if ((byte & 0xc0) != 0x80)
			return false;
		c = c << 6 | (byte & 0x3f);
	}
	if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	*pos += (size_t)n + 1;
	*out = c;
	return true;
}

size_t b2f_utf8_put(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}
