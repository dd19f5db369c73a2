/* SPDX-License-Identifier: BSD-3-Clause */
/* msgpack_json.c - MessagePack as JSON */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/msgpack.h"
#include "cli/msgpack_tree.h"

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

	for (uint32_t i = 0; i < a->size; i++)
		json_array_append_new(list, make_value(&a->ptr[i]));
	return list;
}

/* A key that is no text, or not one that JSON can have, becomes one. */
static void set_pair(json_t *object, const msgpack_object_kv *pair)
{
	const msgpack_object_str *s = &pair->key.via.str;
	char *text = NULL;
	size_t size;

	if (pair->key.type == MSGPACK_OBJECT_STR && !memchr(s->ptr, 0, s->size))
		text = strndup(s->ptr, s->size);
	else
		text = cli_msgpack_tree_text(&pair->key, &size);
	if (text)
		json_object_set_new(object, text, make_value(&pair->val));
	free(text);
}

static json_t *make_map(const msgpack_object_map *m)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < m->size; i++)
		set_pair(object, &m->ptr[i]);
	return object;
}

static json_t *make_inner(const msgpack_object_ext *e)
{
	msgpack_unpacked tree;
	json_t *value = NULL;

	if (!cli_msgpack_tree_make(&tree, e->ptr, e->size))
		return NULL;
	if (!cli_msgpack_tree_has_ext(&tree.data))
		value = make_value(&tree.data);
	msgpack_unpacked_destroy(&tree);
	return value;
}

static json_t *make_extension(const msgpack_object_ext *e)
{
	json_t *object = json_pack("{s:i}", "ext", e->type);
	json_t *inner = NULL;

	if (e->type == CLI_MSGPACK_FRAME)
		json_object_set_new(object, "what", json_string("frame"));
	if (e->type == CLI_MSGPACK_OBJECT)
		inner = make_inner(e);
	if (inner) {
		json_object_set_new(object, "what", json_string("object"));
		json_object_set_new(object, "value", inner);
	} else {
		json_object_set_new(object, "hex", make_hex(e->ptr, e->size));
	}
	return object;
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
		return cli_json_text(o->via.str.ptr, o->via.str.size);
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

json_t *cli_msgpack_json(const uint8_t *data, size_t size)
{
	msgpack_unpacked tree;
	json_t *value;

	if (!cli_msgpack_tree_make(&tree, (const char *)data, size))
		return NULL;
	value = make_value(&tree.data);
	msgpack_unpacked_destroy(&tree);
	return value;
}
