/* SPDX-License-Identifier: BSD-3-Clause */
/* array.c - the b2nd metalayer, and the positions of an array's items */
#include "array/b2nd.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/cursor.h"

enum { MARK_ARRAY = 0x90, MARK_INT64 = 0xd3, MARK_INT32 = 0xd2 };
enum { MARK_STR32 = 0xdb };

static void parse_shape64(struct b2f_cursor *cur, unsigned int ndim,
			  int64_t *out)
{
	b2f_cursor_skip(cur, 1); /* the array mark, which no reader checks */
	for (unsigned int i = 0; i < ndim; i++) {
		if (b2f_cursor_u8(cur) != MARK_INT64)
			cur->failed = true;
		out[i] = (int64_t)b2f_cursor_be64(cur);
	}
}

static void parse_shape32(struct b2f_cursor *cur, unsigned int ndim,
			  int32_t *out)
{
	b2f_cursor_skip(cur, 1);
	for (unsigned int i = 0; i < ndim; i++) {
		if (b2f_cursor_u8(cur) != MARK_INT32)
			cur->failed = true;
		out[i] = (int32_t)b2f_cursor_be32(cur);
	}
}

/* A metalayer of caterva, or of an early b2nd, ends before the dtype. */
static int parse_dtype(struct b2f_cursor *cur, struct b2f_array *a,
		       struct b2f_why *why)
{
	const uint8_t *text;
	uint32_t len;

	if (b2f_cursor_left(cur) == 0)
		return 0;
	a->dtype_format = b2f_cursor_u8(cur);
	if (b2f_cursor_u8(cur) != MARK_STR32)
		cur->failed = true;
	len = b2f_cursor_be32(cur);
	text = b2f_cursor_take(cur, len);
	if (!text)
		return b2f_why_set(why, B2F_ECORRUPT, "the dtype is broken");
	a->dtype = malloc((size_t)len + 1);
	if (!a->dtype)
		return -ENOMEM;
	memcpy(a->dtype, text, len);
	a->dtype[len] = '\0';
	return 0;
}

/* Multiplies *@product by @factor; remembers in *@ok if it did not fit. */
static void multiply(uint64_t *product, uint64_t factor, bool *ok)
{
	if (!b2f_mul_u64(*product, factor, product))
		*ok = false;
}

static int check_dim(const struct b2f_array *a, unsigned int i,
		     struct b2f_why *why)
{
	if (a->shape[i] < 0 || a->chunkshape[i] < 0 || a->blockshape[i] < 0)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "dimension %u has a negative size", i);
	if (a->shape[i] != 0 &&
	    (a->chunkshape[i] == 0 || a->blockshape[i] == 0))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "dimension %u has chunks of nothing", i);
	return 0;
}

static uint64_t div_up(int64_t a, int64_t b)
{
	return b == 0 ? 0 : b2f_div_up_u64((uint64_t)a, (uint64_t)b);
}

bool b2f_array_multiply(struct b2f_array *a)
{
	uint64_t bytes = a->itemsize, all_bytes = a->itemsize;
	bool ok = true;

	a->nitems = a->block_items = a->chunk_items = a->nchunks = 1;
	for (unsigned int i = 0; i < a->ndim; i++) {
		uint64_t block = (uint64_t)a->blockshape[i];
		uint64_t nblocks = div_up(a->chunkshape[i], a->blockshape[i]);

		multiply(&a->nitems, (uint64_t)a->shape[i], &ok);
		multiply(&a->block_items, block, &ok);
		multiply(&a->chunk_items, nblocks * block, &ok);
		multiply(&a->nchunks, div_up(a->shape[i], a->chunkshape[i]),
			 &ok);
	}
	multiply(&bytes, a->chunk_items, &ok);
	multiply(&all_bytes, a->nitems, &ok);
	return ok && bytes <= B2F_ARRAY_MAX_CHUNK && all_bytes <= INT64_MAX;
}

static int check(struct b2f_array *a, struct b2f_why *why)
{
	int err = 0;

	for (unsigned int i = 0; i < a->ndim && !err; i++)
		err = check_dim(a, i, why);
	if (!err && !b2f_array_multiply(a))
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "the array is too large to exist");
	return err;
}

int b2f_array_parse(const uint8_t *raw, size_t size, uint32_t itemsize,
		    struct b2f_array *out, struct b2f_why *why)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, size);
	struct b2f_array a = {.itemsize = itemsize};
	int err;

	b2f_cursor_skip(&cur, 2); /* array mark and version, never checked */
	a.ndim = b2f_cursor_u8(&cur);
	if (a.ndim > B2F_ARRAY_MAX_DIM)
		return b2f_why_set(why, B2F_ECORRUPT, "%u dimensions", a.ndim);
	parse_shape64(&cur, a.ndim, a.shape);
	parse_shape32(&cur, a.ndim, a.chunkshape);
	parse_shape32(&cur, a.ndim, a.blockshape);
	if (!b2f_cursor_ok(&cur))
		return b2f_why_set(why, B2F_ECORRUPT, "the shape is broken");
	err = check(&a, why);
	if (!err)
		err = parse_dtype(&cur, &a, why);
	if (!err)
		*out = a;
	return err;
}

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

void b2f_array_fini(struct b2f_array *array)
{
	free(array->dtype);
	*array = (struct b2f_array){0};
}

struct b2f_array_piece b2f_array_locate(const struct b2f_array *array,
					uint64_t item)
{
	struct b2f_array_piece piece = {.nitems = 1};
	uint64_t chunk_stride = 1, block_stride = 1, in_stride = 1;
	uint64_t block = 0, in_block = 0;

	/* The last dimension turns fastest in every grid. */
	for (unsigned int i = array->ndim; i-- > 0;) {
		uint64_t cs = (uint64_t)array->chunkshape[i];
		uint64_t bs = (uint64_t)array->blockshape[i];
		uint64_t n = (uint64_t)array->shape[i];
		uint64_t x = item % n, y = x % cs, z = y % bs;

		item /= n;
		piece.nchunk += x / cs * chunk_stride;
		block += y / bs * block_stride;
		in_block += z * in_stride;
		if (i == array->ndim - 1)
			piece.nitems =
				b2f_min_u64(b2f_min_u64(bs - z, cs - y), n - x);
		chunk_stride *= b2f_div_up_u64(n, cs);
		block_stride *= b2f_div_up_u64(cs, bs);
		in_stride *= bs;
	}
	piece.chunk_off =
		(block * array->block_items + in_block) * array->itemsize;
	return piece;
}
