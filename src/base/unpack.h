/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unpack.h - values of MessagePack, one after the other, from hostile bytes
 *
 * A value of an unexpected kind fails the cursor (cursor.h), so a parser may
 * take a group of values and check once at the end.  Nothing is allocated, and
 * nothing recurses.
 *
 * Layer: base.  Threads: one cursor belongs to one thread.
 */
#ifndef B2F_BASE_UNPACK_H
#define B2F_BASE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

enum b2f_unpack_kind {
	B2F_UNPACK_NIL,
	B2F_UNPACK_BOOL,
	/* An integer of 0 or more, and a negative integer. */
	B2F_UNPACK_UINT,
	B2F_UNPACK_NEGATIVE,
	B2F_UNPACK_FLOAT,
	B2F_UNPACK_DOUBLE,
	B2F_UNPACK_TEXT,
	B2F_UNPACK_BYTES,
	B2F_UNPACK_EXT,
	B2F_UNPACK_ARRAY,
	B2F_UNPACK_MAP,
};

struct b2f_unpacked {
	enum b2f_unpack_kind kind;
	/*
	 * 0 or 1, an integer (a negative one in two's complement), or the
	 * number of bytes, items, or pairs.
	 */
	uint64_t n;
	double real;
	/*
	 * The content of a text, bytes or extension, inside the cursor's
	 * buffer.
	 */
	const uint8_t *bytes;
	/* The number of an extension. */
	int8_t type;
};

/*
 * Reads the next value, or the head of an array or map, whose items or pairs
 * are the values that follow.  Returns false if the cursor has failed.
 */
bool b2f_unpack_next(struct b2f_cursor *cur, struct b2f_unpacked *out);

/* The head of a map or array: how many pairs or items follow; 0 if failed. */
uint32_t b2f_unpack_map(struct b2f_cursor *cur);
uint32_t b2f_unpack_array(struct b2f_cursor *cur);

/* A text, not 0-terminated, inside the cursor's buffer; NULL if failed. */
const char *b2f_unpack_text(struct b2f_cursor *cur, size_t *len);

/*
 * Reads a text; if it is not @text, the cursor fails.  Returns whether it is.
 */
bool b2f_unpack_is(struct b2f_cursor *cur, const char *text);

/* An integer that is not negative; 0 if failed. */
uint64_t b2f_unpack_uint(struct b2f_cursor *cur);

/* Is the next value a text, or an array? */
bool b2f_unpack_next_is_text(const struct b2f_cursor *cur);
bool b2f_unpack_next_is_array(const struct b2f_cursor *cur);

/* Goes past the next @n values and all values in them. */
void b2f_unpack_skip(struct b2f_cursor *cur, uint64_t n);

#endif
