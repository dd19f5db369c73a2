/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_array.c - the array that the metadata of a Bloscpack file describe
 *
 *   {"container": "numpy", "dtype": "'<f8'", "shape": [3, 4], "order": "C"}
 *
 * The dtype stands as Python prints it: a text in quotes, or a list of fields.
 * Old versions wrote the text without quotes, and the list as JSON.
 */
#include "frame/json_array.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer text is not parsed: its tree would take 50 times the memory. */
#define TEXT_MAX ((size_t)256 << 10)

/* A dtype in a dtype in a dtype: as deep as a field may be. */
#define DEPTH_MAX 16

static bool take_shape(const json_t *shape, struct b2f_array *out)
{
	size_t n = json_array_size(shape);

	if (!json_is_array(shape) || n > B2F_ARRAY_MAX_DIM)
		return false;
	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_array_get(shape, i);

		if (!json_is_integer(item) || json_integer_value(item) < 0)
			return false;
		out->shape[i] = json_integer_value(item);
	}
	out->ndim = (unsigned int)n;
	return true;
}

static bool take_order(const json_t *order, struct b2f_array *out)
{
	const char *text = json_string_value(order);

	if (!text || (strcmp(text, "C") != 0 && strcmp(text, "F") != 0))
		return false;
	/* An array of one dimension has no order. */
	out->fortran_order = text[0] == 'F' && out->ndim > 1;
	return true;
}

/* Writes a text in quotes; refuses characters that would end them. */
static bool put_text(const json_t *item, FILE *out)
{
	const char *text = json_string_value(item);

	if (!text || strpbrk(text, "'\\\n"))
		return false;
	fprintf(out, "'%s'", text);
	return true;
}

/*
 * Writes a list as Python does: a list of lists is a list of fields, any other
 * one a field, or a shape.
 */
static bool put_list(const json_t *list, int depth, FILE *out)
{
	bool fields = json_is_array(json_array_get(list, 0));
	bool good = depth < DEPTH_MAX && json_array_size(list) > 0;

	fputc(fields ? '[' : '(', out);
	for (size_t i = 0; i < json_array_size(list) && good; i++) {
		const json_t *item = json_array_get(list, i);

		if (json_is_array(item))
			good = put_list(item, depth + 1, out);
		else if (json_is_integer(item))
			fprintf(out, "%lld",
				(long long)json_integer_value(item));
		else
			good = put_text(item, out);
		fputs(", ", out);
	}
	fputc(fields ? ']' : ')', out);
	return good;
}

/* Takes the dtype in the form of a b2nd array; *@good: it is one. */
static int take_list(const json_t *list, struct b2f_array *out, bool *good)
{
	size_t size;
	FILE *f = open_memstream(&out->dtype, &size);

	if (!f)
		return -ENOMEM;
	*good = put_list(list, 0, f);
	return fclose(f) ? -ENOMEM : 0;
}

static int take_dtype(const json_t *dtype, struct b2f_array *out, bool *good)
{
	const char *text = json_string_value(dtype);
	size_t n;

	if (json_is_array(dtype))
		return take_list(dtype, out, good);
	if (!text)
		return 0;
	n = strlen(text);
	if (n >= 2 && strchr("'\"", text[0]) && text[n - 1] == text[0])
		out->dtype = strndup(text + 1, n - 2);
	else
		out->dtype = strdup(text);
	*good = out->dtype;
	return out->dtype ? 0 : -ENOMEM;
}

/* The dtype as Python prints it: a text has quotes. */
static json_t *dtype_of(const struct b2f_array *array)
{
	const char *text = array->dtype;

	if (!text)
		return json_sprintf("'|S%u'", (unsigned int)array->itemsize);
	if (text[0] == '[' || text[0] == '(' || text[0] == '{')
		return json_string(text);
	return json_sprintf("'%s'", text);
}

static json_t *shape_of(const struct b2f_array *array)
{
	json_t *shape = json_array();

	for (unsigned int i = 0; i < array->ndim; i++)
		json_array_append_new(shape, json_integer(array->shape[i]));
	return shape;
}

/* Writes the text of @root, and frees @root. */
static int put_root(json_t *root, char **out)
{
	*out = root ? json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII)
		    : NULL;
	json_decref(root);
	return *out ? 0 : -ENOMEM;
}

int b2f_json_array_write(const struct b2f_array *array, char **out)
{
	if (array->dtype_format != 0)
		return 0;
	return put_root(json_pack("{s:o, s:o, s:s, s:s}", "dtype",
				  dtype_of(array), "shape", shape_of(array),
				  "order", array->fortran_order ? "F" : "C",
				  "container", "numpy"),
			out);
}

int b2f_json_array_reshape(const char *text, size_t len,
			   const struct b2f_array *array, char **out)
{
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);

	if (json_object_set_new(root, "shape", shape_of(array))) {
		json_decref(root);
		return -ENOMEM;
	}
	return put_root(root, out);
}

int b2f_json_array_parse(const char *text, size_t len, struct b2f_array *out,
			 bool *good)
{
	const char *container;
	json_t *root;
	int err = 0;

	*good = false;
	if (len > TEXT_MAX)
		return 0;
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	container = json_string_value(json_object_get(root, "container"));
	if (container && strcmp(container, "numpy") == 0 &&
	    take_shape(json_object_get(root, "shape"), out) &&
	    take_order(json_object_get(root, "order"), out))
		err = take_dtype(json_object_get(root, "dtype"), out, good);
	json_decref(root);
	return err;
}
