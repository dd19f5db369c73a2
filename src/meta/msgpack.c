/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack.c - MessagePack as text and as JSON
 *
 * Recursion is bounded: check_all() refuses more than LEVELS_MAX levels first.
 */
#include "meta/msgpack.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unpack.h"
#include "meta/escape.h"

/* Levels of nested lists and maps. */
#define LEVELS_MAX 32

/* Shown items of a list, and bytes of a string. */
#define ITEMS_SHOWN 32
#define BYTES_SHOWN 160

/*
 * Extensions of python-blosc2: a whole frame, and a map with kind and version.
 */
#define FRAME  42
#define OBJECT 43

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

/*
 * True if the @size bytes at @data are one value, neither too long nor too
 * deep; the other functions take only bytes that were checked.  *@has_ext: it
 * has an extension, at any depth.
 */
static bool check_all(const uint8_t *data, size_t size, bool *has_ext)
{
	struct b2f_cursor cur = b2f_cursor_at(data, size);

	*has_ext = false;
	return size <= B2F_MSGPACK_MAX && check(&cur, 0, has_ext) &&
	       b2f_cursor_left(&cur) == 0;
}

/* Writes the next value, cut to one line, to @out, and goes past it. */
static void put_value(FILE *out, struct b2f_cursor *cur);

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
		put_value(out, cur);
		if (!is_map)
			continue;
		fputs(": ", out);
		put_value(out, cur);
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

	if (!check_all(v->bytes, v->n, &has_ext) || has_ext ||
	    !b2f_unpack_next(&first, &inner) || inner.kind != B2F_UNPACK_MAP)
		return false;
	fputs("an object ", out);
	put_value(out, &cur);
	return true;
}

static void put_extension(FILE *out, const struct b2f_unpacked *v)
{
	if (v->type == FRAME) {
		fprintf(out, "a frame of %" PRIu64 " bytes", v->n);
		return;
	}
	if (v->type == OBJECT && put_inner(out, v))
		return;
	fprintf(out, "ext %d ", v->type);
	put_bytes(out, v);
}

static void put_value(FILE *out, struct b2f_cursor *cur)
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

	if (!check_all(data, size, &has_ext))
		return false;
	put_value(out, &cur);
	return true;
}

/*
 * As JSON: a value is whole or NULL. If memory runs out, no part of it is
 * returned.
 */
static json_t *make_value(struct b2f_cursor *cur);

static json_t *make_hex(const struct b2f_unpacked *v)
{
	static const char digits[] = "0123456789abcdef";
	char *text = malloc(2 * v->n + 1);
	json_t *string;

	if (!text)
		return NULL;
	for (uint64_t i = 0; i < v->n; i++) {
		text[2 * i] = digits[v->bytes[i] >> 4];
		text[2 * i + 1] = digits[v->bytes[i] & 15];
	}
	string = json_stringn(text, 2 * v->n);
	free(text);
	return string;
}

/* JSON allows integers of any size, but its readers do not. */
static json_t *make_uint(uint64_t value)
{
	char text[24];

	if (value <= INT64_MAX)
		return json_integer((json_int_t)value);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return json_string(text);
}

static json_t *make_float(double value)
{
	if (isnan(value))
		return json_string("nan");
	if (isinf(value))
		return json_string(value > 0 ? "inf" : "-inf");
	return json_real(value);
}

static json_t *make_array(uint64_t n, struct b2f_cursor *cur)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < n; i++) {
		if (json_array_append_new(list, make_value(cur))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* The next value as text, cut to one line. */
static json_t *make_line(struct b2f_cursor *cur)
{
	json_t *string = NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_value(out, cur);
	if (!fclose(out))
		string = json_string(text);
	free(text);
	return string;
}

/* Turns a key of any type into text for a JSON string. */
static json_t *make_key(struct b2f_cursor *cur)
{
	struct b2f_cursor behind = *cur;
	struct b2f_unpacked v;

	if (!b2f_unpack_next(&behind, &v) || v.kind != B2F_UNPACK_TEXT ||
	    memchr(v.bytes, 0, v.n))
		return make_line(cur);
	*cur = behind;
	return b2f_escape_json((const char *)v.bytes, v.n);
}

static json_t *make_map(uint64_t n, struct b2f_cursor *cur)
{
	json_t *object = json_object();
	int err = 0;

	for (uint64_t i = 0; i < n && !err; i++) {
		json_t *key = make_key(cur);

		err = !key ||
		      json_object_set_new(object, json_string_value(key),
					  make_value(cur));
		json_decref(key);
	}
	if (!err)
		return object;
	json_decref(object);
	return NULL;
}

/* Sets *@out if the bytes are an object without an extension in it. */
static int make_inner(const struct b2f_unpacked *v, json_t **out)
{
	struct b2f_cursor cur = b2f_cursor_at(v->bytes, v->n);
	bool has_ext;

	if (!check_all(v->bytes, v->n, &has_ext) || has_ext)
		return 0;
	*out = make_value(&cur);
	return *out ? 0 : -ENOMEM;
}

static json_t *make_extension(const struct b2f_unpacked *v)
{
	json_t *inner = NULL;

	if (v->type == OBJECT && make_inner(v, &inner))
		return NULL;
	if (inner)
		return json_pack("{s:i, s:s, s:o}", "ext", v->type, "what",
				 "object", "value", inner);
	if (v->type == FRAME)
		return json_pack("{s:i, s:s, s:o}", "ext", v->type, "what",
				 "frame", "hex", make_hex(v));
	return json_pack("{s:i, s:o}", "ext", v->type, "hex", make_hex(v));
}

static json_t *make_value(struct b2f_cursor *cur)
{
	struct b2f_unpacked v;

	if (!b2f_unpack_next(cur, &v))
		return NULL;
	switch (v.kind) {
	case B2F_UNPACK_NIL:
		return json_null();
	case B2F_UNPACK_BOOL:
		return json_boolean(v.n);
	case B2F_UNPACK_UINT:
		return make_uint(v.n);
	case B2F_UNPACK_NEGATIVE:
		return json_integer((json_int_t)v.n);
	case B2F_UNPACK_FLOAT:
	case B2F_UNPACK_DOUBLE:
		return make_float(v.real);
	case B2F_UNPACK_TEXT:
		return b2f_escape_json((const char *)v.bytes, v.n);
	case B2F_UNPACK_BYTES:
		return json_pack("{s:o}", "hex", make_hex(&v));
	case B2F_UNPACK_ARRAY:
		return make_array(v.n, cur);
	case B2F_UNPACK_MAP:
		return make_map(v.n, cur);
	case B2F_UNPACK_EXT:
		return make_extension(&v);
	}
	return NULL;
}

json_t *b2f_msgpack_json(const uint8_t *data, size_t size)
{
	struct b2f_cursor cur = b2f_cursor_at(data, size);
	bool has_ext;

	return check_all(data, size, &has_ext) ? make_value(&cur) : NULL;
}

int b2f_msgpack_plain(const uint8_t *data, size_t size, char **out,
		      size_t *out_size)
{
	struct b2f_cursor cur = b2f_cursor_at(data, size), first = cur;
	struct b2f_unpacked v;
	json_t *value;
	bool has_ext;
	char *text;

	if (!check_all(data, size, &has_ext) || !b2f_unpack_next(&first, &v))
		return -EBADMSG;
	if (v.kind == B2F_UNPACK_TEXT || v.kind == B2F_UNPACK_BYTES) {
		/* One byte more, so that 0 bytes give no NULL. */
		text = malloc(v.n + 1);
		if (text)
			memcpy(text, v.bytes, v.n);
	} else {
		value = make_value(&cur);
		text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
		json_decref(value);
		v.n = text ? strlen(text) : 0;
	}
	if (!text)
		return -ENOMEM;
	*out = text;
	*out_size = v.n;
	return 0;
}
