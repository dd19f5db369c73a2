/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tensor.c - frames of plain data whose metadata describe an array
 *
 * The vlmetalayer is the MessagePack of
 *
 *   ["__tuple__", KIND, ["__tuple__", N, ...], "<f8"]
 *
 * with the list of numpy.dtype.descr, as [["__tuple__", "a", "<i4"], ...], for
 * a structured dtype.
 */
#include "frame/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/unpack.h"
#include "blp/blp_store.h"
#include "frame/json_array.h"

#define TUPLE "__tuple__"

/* Fields of a structured dtype, and dimensions of one, at most. */
#define FIELDS_MAX 4096

/* Takes a tuple, whose first item says so.  Returns how many items follow. */
static uint32_t take_tuple(struct b2f_cursor *cur)
{
	uint32_t n = b2f_unpack_array(cur);

	return b2f_unpack_is(cur, TUPLE) && n > 0 ? n - 1 : 0;
}

/* Writes a text in quotes; refuses characters that would end them. */
static void put_text(struct b2f_cursor *cur, FILE *out)
{
	size_t len;
	const char *text = b2f_unpack_text(cur, &len);

	if (!text || memchr(text, '\'', len) || memchr(text, '\\', len) ||
	    memchr(text, '\n', len) || memchr(text, 0, len)) {
		cur->failed = true;
		return;
	}
	fprintf(out, "'%.*s'", (int)len, text);
}

/* The shape of a field, or its one dimension. */
static void put_dims(struct b2f_cursor *cur, FILE *out)
{
	uint32_t n = 1;

	if (b2f_unpack_next_is_array(cur))
		n = take_tuple(cur);
	if (n > B2F_ARRAY_MAX_DIM)
		cur->failed = true;
	fputs(", (", out);
	for (uint32_t i = 0; i < n && b2f_cursor_ok(cur); i++)
		fprintf(out, "%llu,", (unsigned long long)b2f_unpack_uint(cur));
	fputc(')', out);
}

/* Prints one field: name, type, and perhaps a shape. */
static void put_field(struct b2f_cursor *cur, FILE *out)
{
	uint32_t n = take_tuple(cur);

	if (n < 2 || n > 3)
		cur->failed = true;
	fputc('(', out);
	put_text(cur, out);
	fputs(", ", out);
	put_text(cur, out);
	if (n == 3)
		put_dims(cur, out);
	fputc(')', out);
}

/* The dtype as b2nd arrays have it: text, or a list as Python writes it. */
static void put_dtype(struct b2f_cursor *cur, FILE *out)
{
	const char *text;
	uint32_t n;
	size_t len;

	if (b2f_unpack_next_is_text(cur)) {
		text = b2f_unpack_text(cur, &len);
		fwrite(text, 1, text ? len : 0, out);
		return;
	}
	n = b2f_unpack_array(cur);
	if (n > FIELDS_MAX)
		cur->failed = true;
	fputc('[', out);
	for (uint32_t i = 0; i < n && b2f_cursor_ok(cur); i++) {
		fputs(i ? ", " : "", out);
		put_field(cur, out);
	}
	fputc(']', out);
}

static int take_dtype(struct b2f_cursor *cur, char **out)
{
	size_t size;
	FILE *f = open_memstream(out, &size);

	if (!f)
		return -ENOMEM;
	put_dtype(cur, f);
	return fclose(f) ? -ENOMEM : 0;
}

/* Items of @shape; false: too many to count. */
static bool count_items(struct b2f_array *array)
{
	array->nitems = 1;
	for (unsigned int i = 0; i < array->ndim; i++)
		if (!b2f_mul_u64(array->nitems, (uint64_t)array->shape[i],
				 &array->nitems))
			return false;
	return true;
}

/* Do the data have as many bytes as the items?  Sets their size. */
static bool fits(const struct b2f_frame *f, struct b2f_array *array)
{
	uint64_t nbytes = f->header.nbytes;

	if (!count_items(array))
		return false;
	/* Without items the data do not tell the item size. */
	array->itemsize = f->header.typesize;
	if (array->nitems == 0)
		return nbytes == 0;
	if (nbytes % array->nitems ||
	    nbytes / array->nitems > B2F_ARRAY_MAX_ITEMSIZE)
		return false;
	array->itemsize = (uint32_t)(nbytes / array->nitems);
	return array->itemsize > 0;
}

static int parse(const uint8_t *raw, size_t size, struct b2f_array *out,
		 bool *good)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, size);
	uint32_t n = take_tuple(&cur), ndim;
	int err;

	/* The kind: all have the same data. */
	b2f_unpack_skip(&cur, 1);
	ndim = take_tuple(&cur);
	if (n != 3 || ndim > B2F_ARRAY_MAX_DIM)
		return 0;
	out->ndim = ndim;
	for (uint32_t i = 0; i < ndim; i++) {
		uint64_t length = b2f_unpack_uint(&cur);

		if (length > INT64_MAX)
			return 0;
		out->shape[i] = (int64_t)length;
	}
	err = take_dtype(&cur, &out->dtype);
	*good = !err && b2f_cursor_ok(&cur) && b2f_cursor_left(&cur) == 0;
	return err;
}

int b2f_tensor_bloscpack(const struct b2f_frame *f, char **out)
{
	B2F_OWN uint8_t *content = NULL;
	struct b2f_cursor cur;
	size_t size = 0, len = 0;
	const char *text;
	int err = b2f_frame_vlmeta_find(f, B2F_BLP_META, &content, &size);

	if (err)
		return err == -ENODATA ? 0 : err;
	cur = b2f_cursor_at(content, size);
	text = b2f_unpack_text(&cur, &len);
	if (text && !memchr(text, 0, len)) {
		*out = strndup(text, len);
		err = *out ? 0 : -ENOMEM;
	}
	return err;
}

/* The same of the metadata of Bloscpack, if there are some. */
static int parse_bloscpack(struct b2f_frame *f, struct b2f_array *out,
			   bool *good)
{
	B2F_OWN char *text = NULL;
	int err = b2f_tensor_bloscpack(f, &text);

	if (!err && text)
		err = b2f_json_array_parse(text, strlen(text), out, good);
	return err;
}

int b2f_tensor_set(struct b2f_frame *f)
{
	struct b2f_array array = {0};
	B2F_OWN uint8_t *content = NULL;
	bool good = false;
	size_t size = 0;
	int err = b2f_frame_vlmeta_find(f, B2F_TENSOR_META, &content, &size);

	if (!err)
		err = parse(content, size, &array, &good);
	else if (err == -ENODATA)
		err = parse_bloscpack(f, &array, &good);
	if (!err && good && fits(f, &array)) {
		f->array = array;
		f->is_tensor = true;
	} else {
		b2f_array_fini(&array);
	}
	/*
	 * A vlmetalayer that cannot be decoded was logged; the frame is plain
	 * data then.
	 */
	return err == -ENOMEM ? err : 0;
}
