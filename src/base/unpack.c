/* SPDX-License-Identifier: BSD-3-Clause */
/* unpack.c - values of MessagePack, one after the other, from hostile bytes */
#include "base/unpack.h"

#include <string.h>

/* The marks from 0xc0 to 0xdf: kinds, and the bytes of the number behind. */
#define FIRST_LONG 0xc0
#define NONE	   0xc1
#define FIXEXT1	   0xd4

static const struct {
	enum b2f_unpack_kind kind;
	uint8_t width;
} forms[32] = {
	[0x00] = {B2F_UNPACK_NIL, 0},	[0x02] = {B2F_UNPACK_BOOL, 0},
	[0x03] = {B2F_UNPACK_BOOL, 0},	[0x04] = {B2F_UNPACK_BYTES, 1},
	[0x05] = {B2F_UNPACK_BYTES, 2}, [0x06] = {B2F_UNPACK_BYTES, 4},
	[0x07] = {B2F_UNPACK_EXT, 1},	[0x08] = {B2F_UNPACK_EXT, 2},
	[0x09] = {B2F_UNPACK_EXT, 4},	[0x0a] = {B2F_UNPACK_FLOAT, 4},
	[0x0b] = {B2F_UNPACK_DOUBLE, 8}, [0x0c] = {B2F_UNPACK_UINT, 1},
	[0x0d] = {B2F_UNPACK_UINT, 2},	[0x0e] = {B2F_UNPACK_UINT, 4},
	[0x0f] = {B2F_UNPACK_UINT, 8},	[0x10] = {B2F_UNPACK_NEGATIVE, 1},
	[0x11] = {B2F_UNPACK_NEGATIVE, 2}, [0x12] = {B2F_UNPACK_NEGATIVE, 4},
	[0x13] = {B2F_UNPACK_NEGATIVE, 8}, [0x14] = {B2F_UNPACK_EXT, 0},
	[0x15] = {B2F_UNPACK_EXT, 0},	[0x16] = {B2F_UNPACK_EXT, 0},
	[0x17] = {B2F_UNPACK_EXT, 0},	[0x18] = {B2F_UNPACK_EXT, 0},
	[0x19] = {B2F_UNPACK_TEXT, 1},	[0x1a] = {B2F_UNPACK_TEXT, 2},
	[0x1b] = {B2F_UNPACK_TEXT, 4},	[0x1c] = {B2F_UNPACK_ARRAY, 2},
	[0x1d] = {B2F_UNPACK_ARRAY, 4}, [0x1e] = {B2F_UNPACK_MAP, 2},
	[0x1f] = {B2F_UNPACK_MAP, 4},
};

/* Sets kind and number of a value from a mark that holds both. */
static void read_short(uint8_t mark, struct b2f_unpacked *out)
{
	out->kind = mark < 0x80	  ? B2F_UNPACK_UINT
		    : mark < 0x90 ? B2F_UNPACK_MAP
		    : mark < 0xa0 ? B2F_UNPACK_ARRAY
		    : mark < 0xe0 ? B2F_UNPACK_TEXT
				  : B2F_UNPACK_NEGATIVE;
	out->n = mark < 0x80   ? mark
		 : mark < 0xa0 ? mark & 15u
		 : mark < 0xe0 ? mark & 31u
			       : (uint64_t)(int8_t)mark;
}

static uint64_t read_number(struct b2f_cursor *cur, unsigned int width)
{
	const uint8_t *p = b2f_cursor_take(cur, width);
	uint64_t n = 0;

	for (unsigned int i = 0; p && i < width; i++)
		n = n << 8 | p[i];
	return n;
}

/*
 * Extends the sign of an integer of @width bytes; one without sign is a UINT.
 */
static void extend(struct b2f_unpacked *out, unsigned int width)
{
	uint64_t sign = UINT64_C(1) << (8 * width - 1);

	out->n = (out->n ^ sign) - sign;
	if (out->n <= INT64_MAX)
		out->kind = B2F_UNPACK_UINT;
}

static void read_long(struct b2f_cursor *cur, uint8_t mark,
		      struct b2f_unpacked *out)
{
	unsigned int i = mark - FIRST_LONG;
	uint32_t low;
	float real;

	out->kind = forms[i].kind;
	out->n = read_number(cur, forms[i].width);
	low = (uint32_t)out->n;
	memcpy(&real, &low, sizeof(real));
	memcpy(&out->real, &out->n, sizeof(out->real));
	if (out->kind == B2F_UNPACK_FLOAT)
		out->real = (double)real;
	else if (out->kind == B2F_UNPACK_NEGATIVE)
		extend(out, forms[i].width);
	else if (out->kind == B2F_UNPACK_BOOL)
		out->n = mark & 1;
	else if (out->kind == B2F_UNPACK_EXT && !forms[i].width)
		out->n = UINT64_C(1) << (mark - FIXEXT1);
}

bool b2f_unpack_next(struct b2f_cursor *cur, struct b2f_unpacked *out)
{
	uint8_t mark = b2f_cursor_left(cur) ? b2f_cursor_u8(cur) : NONE;

	*out = (struct b2f_unpacked){.bytes = NULL};
	if (mark == NONE)
		cur->failed = true;
	else if (mark >= FIRST_LONG && mark < 0xe0)
		read_long(cur, mark, out);
	else
		read_short(mark, out);
	if (out->kind == B2F_UNPACK_EXT)
		out->type = (int8_t)b2f_cursor_u8(cur);
	if (out->kind >= B2F_UNPACK_TEXT && out->kind <= B2F_UNPACK_EXT)
		out->bytes = b2f_cursor_take(cur, out->n);
	return b2f_cursor_ok(cur);
}

/* Reads a value of @kind; another kind fails @cur, and returns zeros. */
static struct b2f_unpacked take(struct b2f_cursor *cur,
				enum b2f_unpack_kind kind)
{
	struct b2f_unpacked value;

	if (b2f_unpack_next(cur, &value) && value.kind == kind)
		return value;
	cur->failed = true;
	return (struct b2f_unpacked){.bytes = NULL};
}

uint32_t b2f_unpack_map(struct b2f_cursor *cur)
{
	return (uint32_t)take(cur, B2F_UNPACK_MAP).n;
}

uint32_t b2f_unpack_array(struct b2f_cursor *cur)
{
	return (uint32_t)take(cur, B2F_UNPACK_ARRAY).n;
}

const char *b2f_unpack_text(struct b2f_cursor *cur, size_t *len)
{
	struct b2f_unpacked text = take(cur, B2F_UNPACK_TEXT);

	*len = text.n;
	return (const char *)text.bytes;
}

bool b2f_unpack_is(struct b2f_cursor *cur, const char *text)
{
	size_t len;
	const char *found = b2f_unpack_text(cur, &len);

	if (found && len == strlen(text) && memcmp(found, text, len) == 0)
		return true;
	cur->failed = true;
	return false;
}

uint64_t b2f_unpack_uint(struct b2f_cursor *cur)
{
	return take(cur, B2F_UNPACK_UINT).n;
}

/* Is the next value of @kind?  Does not take it. */
static bool is_next(struct b2f_cursor cur, enum b2f_unpack_kind kind)
{
	struct b2f_unpacked value;

	return b2f_unpack_next(&cur, &value) && value.kind == kind;
}

bool b2f_unpack_next_is_text(const struct b2f_cursor *cur)
{
	return is_next(*cur, B2F_UNPACK_TEXT);
}

bool b2f_unpack_next_is_array(const struct b2f_cursor *cur)
{
	return is_next(*cur, B2F_UNPACK_ARRAY);
}

void b2f_unpack_skip(struct b2f_cursor *cur, uint64_t n)
{
	struct b2f_unpacked value;

	/*
	 * Each value takes at least a byte, so a false count ends at the end of
	 * the data.
	 */
	for (; n > 0 && b2f_unpack_next(cur, &value); n--) {
		if (value.kind == B2F_UNPACK_ARRAY)
			n += value.n;
		else if (value.kind == B2F_UNPACK_MAP)
			n += 2 * value.n;
	}
}
