/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cursor.h - the bounded reader through which hostile bytes enter
 *
 * A cursor walks forward over a buffer and never leaves it.  A read that does
 * not fit fails the cursor for good: it gives zeros and every later read fails
 * too, so that a parser may read a group of fields and check once at the end
 * (b2f_cursor_ok()).  A position or length that was read while the cursor
 * failed is 0, never garbage.
 *
 * Layer: base.  May include: -.  Threads: one cursor belongs to one thread.
 */
#ifndef B2F_BASE_CURSOR_H
#define B2F_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct b2f_cursor {
	const uint8_t *data;
	/* Bytes at @data. */
	size_t size;
	/* Next byte to read, <= @size. */
	size_t pos;
	bool failed;
};

static inline struct b2f_cursor b2f_cursor_at(const void *data, size_t size)
{
	return (struct b2f_cursor){.data = data, .size = size};
}

/* True if no read has failed. */
static inline bool b2f_cursor_ok(const struct b2f_cursor *cur)
{
	return !cur->failed;
}

static inline size_t b2f_cursor_left(const struct b2f_cursor *cur)
{
	return cur->failed ? 0 : cur->size - cur->pos;
}

/* The next @n bytes, or NULL if there are fewer. */
static inline const uint8_t *b2f_cursor_take(struct b2f_cursor *cur, size_t n)
{
	const uint8_t *p;

	if (n > b2f_cursor_left(cur) || cur->failed) {
		cur->failed = true;
		return NULL;
	}
	p = cur->data + cur->pos;
	cur->pos += n;
	return p;
}

static inline void b2f_cursor_skip(struct b2f_cursor *cur, size_t n)
{
	(void)b2f_cursor_take(cur, n);
}

/* Goes to @pos, counted from the first byte of the buffer. */
static inline void b2f_cursor_seek(struct b2f_cursor *cur, uint64_t pos)
{
	if (pos > cur->size)
		cur->failed = true;
	else
		cur->pos = (size_t)pos;
}

static inline uint8_t b2f_cursor_u8(struct b2f_cursor *cur)
{
	const uint8_t *p = b2f_cursor_take(cur, 1);

	return p ? *p : 0;
}

static inline uint16_t b2f_cursor_be16(struct b2f_cursor *cur)
{
	const uint8_t *p = b2f_cursor_take(cur, 2);

	return p ? b2f_load_be16(p) : 0;
}

static inline uint32_t b2f_cursor_be32(struct b2f_cursor *cur)
{
	const uint8_t *p = b2f_cursor_take(cur, 4);

	return p ? b2f_load_be32(p) : 0;
}

static inline uint64_t b2f_cursor_be64(struct b2f_cursor *cur)
{
	const uint8_t *p = b2f_cursor_take(cur, 8);

	return p ? b2f_load_be64(p) : 0;
}

static inline uint32_t b2f_cursor_le32(struct b2f_cursor *cur)
{
	const uint8_t *p = b2f_cursor_take(cur, 4);

	return p ? b2f_load_le32(p) : 0;
}

static inline uint64_t b2f_cursor_le64(struct b2f_cursor *cur)
{
	const uint8_t *p = b2f_cursor_take(cur, 8);

	return p ? b2f_load_le64(p) : 0;
}

#endif
