/* SPDX-License-Identifier: BSD-3-Clause */
/* npy_write.c - the header of a .npy file, written */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/dtype.h"
#include "array/npy.h"
#include "array/repr.h"
#include "b2frame/error.h"
#include "base/bytes.h"
#include "base/utf8.h"

/* The length of a header is a multiple of this. */
#define ALIGN ((size_t)64)

/* Room for the dimension that grows when items are appended. */
#define GROWTH_DIGITS 21

/* The shape that numpy gives the array. */
struct shape {
	int64_t dims[B2F_ARRAY_MAX_DIM + B2F_DTYPE_MAX_DIM];
	size_t ndims;
};

static int read_type(const struct b2f_array *array, struct b2f_literal *lit,
		     struct b2f_dtype *out)
{
	char bytes[16];
	const char *text = array->dtype ? array->dtype : bytes;
	int err;

	if (array->dtype_format != 0)
		return B2F_EUNSUPPORTED;
	snprintf(bytes, sizeof(bytes), "|S%" PRIu32, array->itemsize);
	err = b2f_dtype_read_b2nd(text, strlen(text), lit, out);
	if (!err && out->size != array->itemsize)
		err = B2F_ECORRUPT;
	return err;
}

static void read_shape(const struct b2f_array *array,
		       const struct b2f_dtype *type, struct shape *out)
{
	for (unsigned int i = 0; i < array->ndim; i++)
		out->dims[out->ndims++] = array->shape[i];
	for (size_t i = 0; i < type->ndims; i++)
		out->dims[out->ndims++] = type->dims[i];
}

static void put_growth(const struct shape *shape, FILE *out)
{
	int n = snprintf(NULL, 0, "%" PRId64, shape->dims[0]);

	if (shape->ndims > 0)
		fprintf(out, "%*s", GROWTH_DIGITS - n, "");
}

static int put_text(const struct b2f_dtype *type, const struct shape *shape,
		    bool fortran_order, char **text, size_t *len)
{
	FILE *out = open_memstream(text, len);
	int err, end_err;

	if (!out)
		return -ENOMEM;
	fputs("{'descr': ", out);
	err = b2f_dtype_put_descr(type->base ? type->base : type, out);
	fprintf(out, ", 'fortran_order': %s, 'shape': ",
		fortran_order ? "True" : "False");
	b2f_repr_tuple(out, shape->dims, shape->ndims);
	fputs(", }", out);
	put_growth(shape, out);
	end_err = b2f_repr_end(out);
	return err ? err : end_err;
}

/* UTF-8 to Latin-1, in place; false, unchanged, if it has other characters. */
static bool narrow(char *text, size_t *len)
{
	size_t n = 0;
	uint32_t c;

	for (size_t pos = 0; pos < *len;)
		if (!b2f_utf8_next(text, *len, &pos, &c) || c > 0xff)
			return false;
	for (size_t pos = 0; pos < *len;)
		if (b2f_utf8_next(text, *len, &pos, &c))
			text[n++] = (char)c;
	*len = n;
	return true;
}

/* Pads with at least one space, up to a whole line of them, and the newline. */
static size_t padded(size_t prefix, size_t len)
{
	size_t used = prefix + len + 1;

	return len + 1 + ALIGN - used % ALIGN;
}

/* The oldest version that can hold the text. */
static uint8_t choose_version(bool latin1, size_t len)
{
	if (!latin1)
		return 3;
	return padded(10, len) <= UINT16_MAX ? 1 : 2;
}

/* Puts magic, version, length and padding around a text, as numpy does. */
static int wrap(char *text, size_t len, uint8_t **bytes, size_t *size)
{
	bool latin1 = narrow(text, &len);
	uint8_t version = choose_version(latin1, len);
	size_t prefix = version == 1 ? 10 : 12;
	size_t body = padded(prefix, len);
	uint8_t *raw;

	if (body > UINT32_MAX)
		return B2F_EUNSUPPORTED;
	raw = malloc(prefix + body);
	if (!raw)
		return -ENOMEM;
	memset(raw, ' ', prefix + body);
	memcpy(raw, B2F_NPY_MAGIC, B2F_NPY_MAGIC_SIZE);
	raw[6] = version;
	raw[7] = 0;
	raw[8] = (uint8_t)body;
	raw[9] = (uint8_t)(body >> 8);
	if (version > 1)
		b2f_store_le32(raw + 8, (uint32_t)body);
	memcpy(raw + prefix, text, len);
	raw[prefix + body - 1] = '\n';
	*bytes = raw;
	*size = prefix + body;
	return 0;
}

int b2f_npy_write(const struct b2f_array *array, uint8_t **bytes, size_t *len)
{
	struct b2f_literal lit = {0};
	struct b2f_dtype type = {0};
	struct shape shape = {.ndims = 0};
	B2F_OWN char *text = NULL;
	size_t text_len;
	int err = read_type(array, &lit, &type);

	if (err)
		goto out;
	read_shape(array, &type, &shape);
	err = put_text(&type, &shape, array->fortran_order, &text,
			       &text_len);
	if (!err)
		err = wrap(text, text_len, bytes, len);
out:
	b2f_dtype_fini(&type);
	b2f_literal_fini(&lit);
	return err;
}
