/* SPDX-License-Identifier: BSD-3-Clause */
/* array_write.c - the b2nd metalayer as bytes */
#include "array/array_write.h"

#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"
#include "base/bytes.h"

enum { MARK_ARRAY = 0x90, MARK_INT64 = 0xd3, MARK_INT32 = 0xd2 };
enum { MARK_STR32 = 0xdb };

/* Array mark, version, ndim; three marks of shapes; and a dimension in each. */
#define BYTES_FIXED   (3 + 3)
#define BYTES_PER_DIM (9 + 5 + 5)
/* Format and mark and length of the dtype. */
#define BYTES_DTYPE (1 + 5)

/*
 * With 16 dimensions the mark is 0xa0, which means something else to msgpack;
 * C-Blosc2 writes it nevertheless, and ignores it.
 */
static uint8_t *put_mark(uint8_t *p, unsigned int n)
{
	*p = (uint8_t)(MARK_ARRAY + n);
	return p + 1;
}

static uint8_t *put_shape64(uint8_t *p, unsigned int ndim, const int64_t *shape)
{
	p = put_mark(p, ndim);
	for (unsigned int i = 0; i < ndim; i++, p += 9) {
		p[0] = MARK_INT64;
		b2f_store_be64(p + 1, (uint64_t)shape[i]);
	}
	return p;
}

static uint8_t *put_shape32(uint8_t *p, unsigned int ndim, const int32_t *shape)
{
	p = put_mark(p, ndim);
	for (unsigned int i = 0; i < ndim; i++, p += 5) {
		p[0] = MARK_INT32;
		b2f_store_be32(p + 1, (uint32_t)shape[i]);
	}
	return p;
}

static void put_dtype(uint8_t *p, const struct b2f_array *a, size_t len)
{
	p[0] = a->dtype_format;
	p[1] = MARK_STR32;
	b2f_store_be32(p + 2, (uint32_t)len);
	memcpy(p + BYTES_DTYPE, a->dtype, len);
}

int b2f_array_write(const struct b2f_array *array, uint8_t **raw, size_t *size)
{
	size_t len = array->dtype ? strlen(array->dtype) : 0, all;
	uint8_t *made, *p;

	if (array->ndim > B2F_ARRAY_MAX_DIM)
		return -EINVAL;
	if (len > UINT32_MAX)
		return B2F_ETOOBIG;
	all = BYTES_FIXED + array->ndim * BYTES_PER_DIM;
	if (array->dtype)
		all += BYTES_DTYPE + len;
	made = malloc(all);
	if (!made)
		return -ENOMEM;
	p = put_mark(made, array->dtype ? 7 : 5);
	*p++ = 0; /* version */
	*p++ = (uint8_t)array->ndim;
	p = put_shape64(p, array->ndim, array->shape);
	p = put_shape32(p, array->ndim, array->chunkshape);
	p = put_shape32(p, array->ndim, array->blockshape);
	if (array->dtype)
		put_dtype(p, array, len);
	*raw = made;
	*size = all;
	return 0;
}
