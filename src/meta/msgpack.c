/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack.c - MessagePack as text
 *
 * Recursion is bounded: b2f_msgpack_value_check() refuses more than LEVELS_MAX
 * levels first.
 */
#include "meta/msgpack.h"

#include <inttypes.h>

#include "meta/escape.h"
#include "meta/msgpack_value.h"

/* Levels of nested lists and maps. */
#define LEVELS_MAX 32

/* Shown items of a list, and bytes of a string. */
#define ITEMS_SHOWN 32
#define BYTES_SHOWN 160

/*
 * Goes past a value at @level, and notes extensions; false if it is too deep or
 * damaged.
 */
static bool check(struct b2f_cursor *cur, unsigned int level, bool *has_ext)
{
	struct b2f_unpacked v;
	uint64_t n = 0;

	if (!b2f_unpack_next(cur, &v))
		return false;
	*has_ext = *has_ext || v.kind == B2F_UNPACK_EXT;
	if (v.kind == B2F_UNPACK_ARRAY || v.kind == B2F_UNPACK_MAP) {
		n = v.kind == B2F_UNPACK_MAP ? 2 * v.n : v.n;
		if (level == LEVELS_MAX)
			return false;
	}
	while (n > 0 && check(cur, level + 1, has_ext))
		n--;
	return n == 0;
}

bool b2f_msgpack_value_check(const uint8_t *data, size_t size, bool *has_ext)
{
	struct b2f_cursor cur = b2f_cursor_at(data, size);

	*has_ext = false;
	return size <= B2F_MSGPACK_MAX && check(&cur, 0, has_ext) &&
	       b2f_cursor_left(&cur) == 0;
}

static void put_text(FILE *out, const struct b2f_unpacked *v)
{
	fputc('"', out);
	b2f_escape_put(out, (const char *)v->bytes,
		       v->n < BYTES_SHOWN ? v->n : BYTES_SHOWN);
	fputs(v->n > BYTES_SHOWN ? "\"..." : "\"", out);
}

static void put_bytes(FILE *out, const struct b2f_unpacked *v)
{
	fputs("h'", out);
	for (uint64_t i = 0; i < v->n && i < BYTES_SHOWN / 2; i++)
		fprintf(out, "%02x", v->bytes[i]);
	fputs(v->n > BYTES_SHOWN / 2 ? "...'" : "'", out);
}

/* Writes the items of an array, or the pairs of a map. */
static void put_items(FILE *out, const struct b2f_unpacked *v,
		      struct b2f_cursor *cur)
{
	bool is_map = v->kind == B2F_UNPACK_MAP;
	uint64_t i;

	fputc(is_map ? '{' : '[', out);
	for (i = 0; i < v->n && i < ITEMS_SHOWN; i++) {
		fputs(i ? ", " : "", out);
		b2f_msgpack_value_put(out, cur);
		if (!is_map)
			continue;
		fputs(": ", out);
		b2f_msgpack_value_put(out, cur);
	}
	if (i < v->n)
		fputs(", ...", out);
	b2f_unpack_skip(cur, (v->n - i) * (is_map ? 2 : 1));
	fputc(is_map ? '}' : ']', out);
}

/* Shows the object in an extension, but none inside that object. */
static bool put_inner(FILE *out, const struct b2f_unpacked *v)
{
	struct b2f_cursor cur = b2f_cursor_at(v->bytes, v->n), first = cur;
	struct b2f_unpacked inner;
	bool has_ext;

	if (!b2f_msgpack_value_check(v->bytes, v->n, &has_ext) || has_ext ||
	    !b2f_unpack_next(&first, &inner) || inner.kind != B2F_UNPACK_MAP)
		return false;
	fputs("an object ", out);
	b2f_msgpack_value_put(out, &cur);
	return true;
}

static void put_extension(FILE *out, const struct b2f_unpacked *v)
{
	if (v->type == B2F_MSGPACK_FRAME) {
		fprintf(out, "a frame of %" PRIu64 " bytes", v->n);
		return;
	}
	if (v->type == B2F_MSGPACK_OBJECT && put_inner(out, v))
		return;
	fprintf(out, "ext %d ", v->type);
	put_bytes(out, v);
}

void b2f_msgpack_value_put(FILE *out, struct b2f_cursor *cur)
{
	struct b2f_unpacked v;

	if (!b2f_unpack_next(cur, &v))
		return;
	switch (v.kind) {
	case B2F_UNPACK_NIL:
		fputs("null", out);
		return;
	case B2F_UNPACK_BOOL:
		fputs(v.n ? "true" : "false", out);
		return;
	case B2F_UNPACK_UINT:
		fprintf(out, "%" PRIu64, v.n);
		return;
	case B2F_UNPACK_NEGATIVE:
		fprintf(out, "%" PRId64, (int64_t)v.n);
		return;
	case B2F_UNPACK_FLOAT:
	case B2F_UNPACK_DOUBLE:
		fprintf(out, "%.*g", v.kind == B2F_UNPACK_FLOAT ? 9 : 17,
			v.real);
		return;
	case B2F_UNPACK_TEXT:
		put_text(out, &v);
		return;
	case B2F_UNPACK_BYTES:
		put_bytes(out, &v);
		return;
	case B2F_UNPACK_ARRAY:
	case B2F_UNPACK_MAP:
		put_items(out, &v, cur);
		return;
	case B2F_UNPACK_EXT:
		put_extension(out, &v);
		return;
	}
}

bool b2f_msgpack_print(FILE *out, const uint8_t *data, size_t size)
{
	struct b2f_cursor cur = b2f_cursor_at(data, size);
	bool has_ext;

	if (!b2f_msgpack_value_check(data, size, &has_ext))
		return false;
	b2f_msgpack_value_put(out, &cur);
	return true;
}
