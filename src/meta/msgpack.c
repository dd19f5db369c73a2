/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack.c - MessagePack as text
 *
 * Recursion is no danger here: the library refuses more than 32 levels.
 * Neither are sizes, once the claims hold.
 */
#include "meta/msgpack.h"

#include <errno.h>
#include <inttypes.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "meta/escape.h"
#include "meta/msgpack_tree.h"

/* Items of a list, bytes of a string that are shown. */
#define ITEMS_SHOWN 32
#define BYTES_SHOWN 160

static void put_object(FILE *out, const msgpack_object *o);

int b2f_msgpack_tree_make(msgpack_unpacked *tree, const char *data, size_t size)
{
	msgpack_unpack_return ret;
	size_t off = 0;

	if (size > B2F_MSGPACK_MAX || !b2f_msgpack_claims_hold(data, size))
		return -EBADMSG;
	msgpack_unpacked_init(tree);
	ret = msgpack_unpack_next(tree, data, size, &off);
	if (ret == MSGPACK_UNPACK_SUCCESS && off == size)
		return 0;
	msgpack_unpacked_destroy(tree);
	return ret == MSGPACK_UNPACK_NOMEM_ERROR ? -ENOMEM : -EBADMSG;
}

static void put_string(FILE *out, const msgpack_object_str *s)
{
	fputc('"', out);
	b2f_escape_put(out, s->ptr,
			s->size < BYTES_SHOWN ? s->size : BYTES_SHOWN);
	fputs(s->size > BYTES_SHOWN ? "\"..." : "\"", out);
}

static void put_bytes(FILE *out, const char *data, uint32_t n)
{
	fputs("h'", out);
	for (uint32_t i = 0; i < n && i < BYTES_SHOWN / 2; i++)
		fprintf(out, "%02x", (unsigned char)data[i]);
	fputs(n > BYTES_SHOWN / 2 ? "...'" : "'", out);
}

/* @map: of pairs.  Opens and separates; false if no more are shown. */
static bool begin_item(FILE *out, uint32_t i)
{
	if (i > 0)
		fputs(", ", out);
	if (i == ITEMS_SHOWN)
		fputs("...", out);
	return i < ITEMS_SHOWN;
}

static void put_array(FILE *out, const msgpack_object_array *a)
{
	fputc('[', out);
	for (uint32_t i = 0; i < a->size && begin_item(out, i); i++)
		put_object(out, &a->ptr[i]);
	fputc(']', out);
}

static void put_map(FILE *out, const msgpack_object_map *m)
{
	fputc('{', out);
	for (uint32_t i = 0; i < m->size && begin_item(out, i); i++) {
		put_object(out, &m->ptr[i].key);
		fputs(": ", out);
		put_object(out, &m->ptr[i].val);
	}
	fputc('}', out);
}

/* Shows the contents of an object, but not of objects inside of it. */
static bool put_inner(FILE *out, const msgpack_object_ext *e)
{
	msgpack_unpacked tree;
	bool is_map;

	if (b2f_msgpack_tree_make(&tree, e->ptr, e->size))
		return false;
	is_map = tree.data.type == MSGPACK_OBJECT_MAP &&
		 !b2f_msgpack_tree_has_ext(&tree.data);
	if (is_map) {
		fputs("an object ", out);
		put_object(out, &tree.data);
	}
	msgpack_unpacked_destroy(&tree);
	return is_map;
}

static void put_extension(FILE *out, const msgpack_object_ext *e)
{
	if (e->type == B2F_MSGPACK_FRAME) {
		fprintf(out, "a frame of %" PRIu32 " bytes", e->size);
		return;
	}
	if (e->type == B2F_MSGPACK_OBJECT && put_inner(out, e))
		return;
	fprintf(out, "ext %d ", e->type);
	put_bytes(out, e->ptr, e->size);
}

static void put_object(FILE *out, const msgpack_object *o)
{
	switch (o->type) {
	case MSGPACK_OBJECT_NIL:
		fputs("null", out);
		return;
	case MSGPACK_OBJECT_BOOLEAN:
		fputs(o->via.boolean ? "true" : "false", out);
		return;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		fprintf(out, "%" PRIu64, o->via.u64);
		return;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		fprintf(out, "%" PRId64, o->via.i64);
		return;
	case MSGPACK_OBJECT_FLOAT32:
		fprintf(out, "%.9g", o->via.f64);
		return;
	case MSGPACK_OBJECT_FLOAT64:
		fprintf(out, "%.17g", o->via.f64);
		return;
	case MSGPACK_OBJECT_STR:
		put_string(out, &o->via.str);
		return;
	case MSGPACK_OBJECT_BIN:
		put_bytes(out, o->via.bin.ptr, o->via.bin.size);
		return;
	case MSGPACK_OBJECT_ARRAY:
		put_array(out, &o->via.array);
		return;
	case MSGPACK_OBJECT_MAP:
		put_map(out, &o->via.map);
		return;
	case MSGPACK_OBJECT_EXT:
		put_extension(out, &o->via.ext);
		return;
	}
}

bool b2f_msgpack_tree_has_ext(const msgpack_object *o)
{
	const msgpack_object_map *m = &o->via.map;

	if (o->type == MSGPACK_OBJECT_EXT)
		return true;
	for (uint32_t i = 0;
	     o->type == MSGPACK_OBJECT_ARRAY && i < o->via.array.size; i++)
		if (b2f_msgpack_tree_has_ext(&o->via.array.ptr[i]))
			return true;
	for (uint32_t i = 0; o->type == MSGPACK_OBJECT_MAP && i < m->size; i++)
		if (b2f_msgpack_tree_has_ext(&m->ptr[i].key) ||
		    b2f_msgpack_tree_has_ext(&m->ptr[i].val))
			return true;
	return false;
}

char *b2f_msgpack_tree_text(const msgpack_object *o, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	if (!out)
		return NULL;
	put_object(out, o);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

bool b2f_msgpack_print(FILE *out, const uint8_t *data, size_t size)
{
	msgpack_unpacked tree;

	if (b2f_msgpack_tree_make(&tree, (const char *)data, size))
		return false;
	put_object(out, &tree.data);
	msgpack_unpacked_destroy(&tree);
	return true;
}
