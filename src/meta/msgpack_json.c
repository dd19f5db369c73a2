/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack_json.c - MessagePack as JSON
 *
 * A value is whole or NULL: if memory runs out, no part of it is returned.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "meta/escape.h"
#include "meta/msgpack.h"
#include "meta/msgpack_value.h"

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
	b2f_msgpack_value_put(out, cur);
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

		err = !key || json_object_set_new(object, json_string_value(key),
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

	if (!b2f_msgpack_value_check(v->bytes, v->n, &has_ext) || has_ext)
		return 0;
	*out = make_value(&cur);
	return *out ? 0 : -ENOMEM;
}

static json_t *make_extension(const struct b2f_unpacked *v)
{
	json_t *inner = NULL;

	if (v->type == B2F_MSGPACK_OBJECT && make_inner(v, &inner))
		return NULL;
	if (inner)
		return json_pack("{s:i, s:s, s:o}", "ext", v->type, "what",
				 "object", "value", inner);
	if (v->type == B2F_MSGPACK_FRAME)
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

	return b2f_msgpack_value_check(data, size, &has_ext) ? make_value(&cur)
							     : NULL;
}

int b2f_msgpack_plain(const uint8_t *data, size_t size, char **out,
		      size_t *out_size)
{
	struct b2f_cursor cur = b2f_cursor_at(data, size), first = cur;
	struct b2f_unpacked v;
	json_t *value;
	bool has_ext;
	char *text;

	if (!b2f_msgpack_value_check(data, size, &has_ext) ||
	    !b2f_unpack_next(&first, &v))
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
