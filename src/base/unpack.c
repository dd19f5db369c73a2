/* SPDX-License-Identifier: BSD-3-Clause */
/* unpack.c - values of MessagePack, one after the other, from hostile bytes */
#include "base/unpack.h"

#include <string.h>

/* Marks that hold a small number in their low bits. */
#define IS_FIXMAP(m)   (((m)&0xf0) == 0x80)
#define IS_FIXARRAY(m) (((m)&0xf0) == 0x90)
#define IS_FIXTEXT(m)  (((m)&0xe0) == 0xa0)
#define IS_FIXINT(m)   ((m) < 0x80)
#define IS_NEGATIVE(m) ((m) >= 0xe0)

enum {
	BIN8 = 0xc4,
	BIN16,
	BIN32,
	EXT8,
	EXT16,
	EXT32,
	FLOAT32,
	FLOAT64,
	UINT8,
	UINT16,
	UINT32,
	UINT64,
	INT8,
	INT16,
	INT32,
	INT64,
	FIXEXT1,
	FIXEXT16 = 0xd8,
	TEXT8,
	TEXT16,
	TEXT32,
	ARRAY16,
	ARRAY32,
	MAP16,
	MAP32,
};

static void fail(struct b2f_cursor *cur)
{
	cur->failed = true;
}

/* The mark of the next value, which stays; 0xc1, which is none, at the end. */
static uint8_t next_mark(const struct b2f_cursor *cur)
{
	return b2f_cursor_left(cur) ? cur->data[cur->pos] : 0xc1;
}

uint32_t b2f_unpack_map(struct b2f_cursor *cur)
{
	uint8_t mark = b2f_cursor_u8(cur);

	if (IS_FIXMAP(mark))
		return mark & 15;
	if (mark == MAP16)
		return b2f_cursor_be16(cur);
	if (mark == MAP32)
		return b2f_cursor_be32(cur);
	fail(cur);
	return 0;
}

uint32_t b2f_unpack_array(struct b2f_cursor *cur)
{
	uint8_t mark = b2f_cursor_u8(cur);

	if (IS_FIXARRAY(mark))
		return mark & 15;
	if (mark == ARRAY16)
		return b2f_cursor_be16(cur);
	if (mark == ARRAY32)
		return b2f_cursor_be32(cur);
	fail(cur);
	return 0;
}

const char *b2f_unpack_text(struct b2f_cursor *cur, size_t *len)
{
	uint8_t mark = b2f_cursor_u8(cur);

	*len = 0;
	if (IS_FIXTEXT(mark))
		*len = mark & 31;
	else if (mark == TEXT8)
		*len = b2f_cursor_u8(cur);
	else if (mark == TEXT16)
		*len = b2f_cursor_be16(cur);
	else if (mark == TEXT32)
		*len = b2f_cursor_be32(cur);
	else
		fail(cur);
	return (const char *)b2f_cursor_take(cur, *len);
}

bool b2f_unpack_is(struct b2f_cursor *cur, const char *text)
{
	size_t len;
	const char *found = b2f_unpack_text(cur, &len);

	if (found && len == strlen(text) && memcmp(found, text, len) == 0)
		return true;
	fail(cur);
	return false;
}

uint64_t b2f_unpack_uint(struct b2f_cursor *cur)
{
	uint8_t mark = b2f_cursor_u8(cur);
	uint64_t value = 0;

	if (IS_FIXINT(mark))
		return mark;
	if (mark == UINT8 || mark == INT8)
		value = b2f_cursor_u8(cur);
	else if (mark == UINT16 || mark == INT16)
		value = b2f_cursor_be16(cur);
	else if (mark == UINT32 || mark == INT32)
		value = b2f_cursor_be32(cur);
	else if (mark == UINT64 || mark == INT64)
		value = b2f_cursor_be64(cur);
	else
		fail(cur);
	/* Their sign bit. */
	if (mark >= INT8 && mark <= INT64 &&
	    value >> ((UINT64_C(8) << (mark - INT8)) - 1))
		fail(cur);
	return cur->failed ? 0 : value;
}

bool b2f_unpack_next_is_text(const struct b2f_cursor *cur)
{
	uint8_t mark = next_mark(cur);

	return IS_FIXTEXT(mark) || (mark >= TEXT8 && mark <= TEXT32);
}

bool b2f_unpack_next_is_array(const struct b2f_cursor *cur)
{
	uint8_t mark = next_mark(cur);

	return IS_FIXARRAY(mark) || mark == ARRAY16 || mark == ARRAY32;
}

/* Goes past the next value; returns how many follow that are part of it. */
static uint64_t skip_one(struct b2f_cursor *cur)
{
	uint8_t mark = next_mark(cur);
	size_t len;

	if (b2f_unpack_next_is_text(cur)) {
		(void)b2f_unpack_text(cur, &len);
		return 0;
	}
	if (b2f_unpack_next_is_array(cur))
		return b2f_unpack_array(cur);
	if (IS_FIXMAP(mark) || mark == MAP16 || mark == MAP32)
		return 2 * (uint64_t)b2f_unpack_map(cur);
	b2f_cursor_skip(cur, 1);
	if (IS_FIXINT(mark) || IS_NEGATIVE(mark) || mark == 0xc0 ||
	    mark == 0xc2 || mark == 0xc3)
		return 0;
	if (mark == BIN8 || mark == EXT8)
		b2f_cursor_skip(cur, b2f_cursor_u8(cur) + (mark == EXT8));
	else if (mark == BIN16 || mark == EXT16)
		b2f_cursor_skip(cur,
				b2f_cursor_be16(cur) + (size_t)(mark == EXT16));
	else if (mark == BIN32 || mark == EXT32)
		b2f_cursor_skip(cur,
				b2f_cursor_be32(cur) + (size_t)(mark == EXT32));
	else if (mark == FLOAT32 || mark == FLOAT64)
		b2f_cursor_skip(cur, mark == FLOAT32 ? 4 : 8);
	else if (mark >= UINT8 && mark <= INT64)
		b2f_cursor_skip(cur, (size_t)1 << ((mark - UINT8) & 3));
	else if (mark >= FIXEXT1 && mark <= FIXEXT16)
		b2f_cursor_skip(cur, ((size_t)1 << (mark - FIXEXT1)) + 1);
	else
		fail(cur);
	return 0;
}

void b2f_unpack_skip(struct b2f_cursor *cur)
{
	/* Each value takes a byte at least, so a false count ends this too. */
	for (uint64_t left = 1; left > 0 && b2f_cursor_ok(cur); left--)
		left += skip_one(cur);
}
