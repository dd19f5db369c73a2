/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack_json.c - MessagePack as JSON
 *
 * Values are whole or NULL: without memory no part may look like all.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "meta/escape.h"
#include "meta/msgpack.h"
#include "meta/msgpack_tree.h"

static json_t *make_value(const msgpack_object *o);

static json_t *make_hex(const char *data, uint32_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *text = malloc(2 * (size_t)n + 1);
	json_t *string;

	if (!text)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		text[2 * (size_t)i] = digits[(unsigned char)data[i] >> 4];
		text[2 * (size_t)i + 1] = digits[(unsigned char)data[i] & 15];
	}
	string = json_stringn(text, 2 * (size_t)n);
	free(text);
	return string;
}

/* JSON has integers of any size, but its readers have not. */
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

static json_t *make_array(const msgpack_object_array *a)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < a->size; i++) {
		if (json_array_append_new(list, make_value(&a->ptr[i]))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Turns any key into text that JSON can have. */
static json_t *make_key(const msgpack_object *o)
{
	const msgpack_object_str *s = &o->via.str;
	json_t *string = NULL;
	size_t size;
	char *text;

	if (o->type == MSGPACK_OBJECT_STR && !memchr(s->ptr, 0, s->size))
		return b2f_escape_json(s->ptr, s->size);
	text = b2f_msgpack_tree_text(o, &size);
	if (text)
		string = json_string(text);
	free(text);
	return string;
}

static bool set_pair(json_t *object, const msgpack_object_kv *pair)
{
	json_t *key = make_key(&pair->key);
	bool is_set = key && !json_object_set_new(object, json_string_value(key),
						  make_value(&pair->val));

	json_decref(key);
	return is_set;
}

static json_t *make_map(const msgpack_object_map *m)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < m->size; i++) {
		if (!set_pair(object, &m->ptr[i])) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

/* Sets *@out if the bytes are an object without another one in it. */
static int make_inner(const msgpack_object_ext *e, json_t **out)
{
	msgpack_unpacked tree;
	int err = b2f_msgpack_tree_make(&tree, e->ptr, e->size);

	if (err)
		return err == -EBADMSG ? 0 : err;
	if (!b2f_msgpack_tree_has_ext(&tree.data)) {
		*out = make_value(&tree.data);
		err = *out ? 0 : -ENOMEM;
	}
	msgpack_unpacked_destroy(&tree);
	return err;
}

static json_t *make_extension(const msgpack_object_ext *e)
{
	json_t *inner = NULL;

	if (e->type == B2F_MSGPACK_OBJECT && make_inner(e, &inner))
		return NULL;
	if (inner)
		return json_pack("{s:i, s:s, s:o}", "ext", e->type, "what",
				 "object", "value", inner);
	if (e->type == B2F_MSGPACK_FRAME)
		return json_pack("{s:i, s:s, s:o}", "ext", e->type, "what",
				 "frame", "hex", make_hex(e->ptr, e->size));
	return json_pack("{s:i, s:o}", "ext", e->type, "hex",
			 make_hex(e->ptr, e->size));
}

static json_t *make_value(const msgpack_object *o)
{
	switch (o->type) {
	case MSGPACK_OBJECT_NIL:
		return json_null();
	case MSGPACK_OBJECT_BOOLEAN:
		return json_boolean(o->via.boolean);
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		return make_uint(o->via.u64);
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		return json_integer(o->via.i64);
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return make_float(o->via.f64);
	case MSGPACK_OBJECT_STR:
		return b2f_escape_json(o->via.str.ptr, o->via.str.size);
	case MSGPACK_OBJECT_BIN:
		return json_pack("{s:o}", "hex",
				 make_hex(o->via.bin.ptr, o->via.bin.size));
	case MSGPACK_OBJECT_ARRAY:
		return make_array(&o->via.array);
	case MSGPACK_OBJECT_MAP:
		return make_map(&o->via.map);
	case MSGPACK_OBJECT_EXT:
		return make_extension(&o->via.ext);
	}
	return NULL;
}

json_t *b2f_msgpack_json(const uint8_t *data, size_t size)
{
	msgpack_unpacked tree;
	json_t *value;

	if (b2f_msgpack_tree_make(&tree, (const char *)data, size))
		return NULL;
	value = make_value(&tree.data);
	msgpack_unpacked_destroy(&tree);
	return value;
}

/* @n bytes at @data, malloc'ed; of none, too. */
static int copy_bytes(const char *data, size_t n, char **out, size_t *size)
{
	char *copy = malloc(n + 1);

	if (!copy)
		return -ENOMEM;
	if (n > 0)
		memcpy(copy, data, n);
	*out = copy;
	*size = n;
	return 0;
}

static int dump(const msgpack_object *o, char **out, size_t *size)
{
	json_t *value = make_value(o);
	char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;

	json_decref(value);
	if (!text)
		return -ENOMEM;
	*out = text;
	*size = strlen(text);
	return 0;
}

int b2f_msgpack_plain(const uint8_t *data, size_t size, char **out,
		      size_t *out_size)
{
	const msgpack_object_bin *bin;
	const msgpack_object_str *str;
	msgpack_unpacked tree;
	int err = b2f_msgpack_tree_make(&tree, (const char *)data, size);

	if (err)
		return err;
	str = &tree.data.via.str;
	bin = &tree.data.via.bin;
	if (tree.data.type == MSGPACK_OBJECT_STR)
		err = copy_bytes(str->ptr, str->size, out, out_size);
	else if (tree.data.type == MSGPACK_OBJECT_BIN)
		err = copy_bytes(bin->ptr, bin->size, out, out_size);
	else
		err = dump(&tree.data, out, out_size);
	msgpack_unpacked_destroy(&tree);
	return err;
}
