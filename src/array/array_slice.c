/* SPDX-License-Identifier: BSD-3-Clause */
/* array_slice.c - a slice of an array, as parts of its blocks */
#include "array/array_slice.h"

#include <string.h>

#include "array/array_grid.h"
#include "base/checked.h"

static uint64_t distance(int64_t step)
{
	return step < 0 ? (uint64_t)0 - (uint64_t)step : (uint64_t)step;
}

static bool fits_dim(const struct b2f_slice *s, unsigned int d, int64_t shape)
{
	uint64_t room;

	if (s->start[d] < 0 || s->start[d] >= shape || s->step[d] == 0)
		return false;
	room = s->step[d] > 0 ? (uint64_t)(shape - 1 - s->start[d])
			      : (uint64_t)s->start[d];
	return s->count[d] - 1 <= room / distance(s->step[d]);
}

bool b2f_array_slice_fits(const struct b2f_array *array,
			  const struct b2f_slice *slice)
{
	for (unsigned int d = 0; d < array->ndim; d++)
		if (slice->count[d] > 0 && !fits_dim(slice, d, array->shape[d]))
			return false;
	return true;
}

uint64_t b2f_array_slice_nitems(const struct b2f_array *array,
				const struct b2f_slice *slice)
{
	uint64_t n = 1;

	for (unsigned int d = 0; d < array->ndim; d++)
		n *= slice->count[d];
	return n;
}

/* The index in the array of index @k of the slice. */
static uint64_t index_of(const struct b2f_slice *s, unsigned int d, uint64_t k)
{
	uint64_t way = k * distance(s->step[d]);

	return (uint64_t)s->start[d] + (s->step[d] < 0 ? 0 - way : way);
}

/* How many of @n rows from @first on to take so that a block ends there. */
static uint64_t fit_rows(const struct b2f_array *a, const struct b2f_slice *s,
			 unsigned int d, uint64_t first, uint64_t n)
{
	uint64_t after, before;

	if (first + n == s->count[d])
		return n;
	after = b2f_array_grid_at(a, d, index_of(s, d, first + n));
	for (uint64_t rows = n; rows > 0; rows--) {
		before = b2f_array_grid_at(a, d,
					   index_of(s, d, first + rows - 1));
		if (before != after)
			return rows;
	}
	return n;
}

/* Everything that follows from first and len of one dimension. */
static void set_dim(struct b2f_array_box *box, const struct b2f_slice *s,
		    unsigned int d)
{
	uint64_t x = index_of(s, d, box->first[d]);
	uint64_t y = index_of(s, d, box->first[d] + box->len[d] - 1);
	uint64_t nblocks;

	box->down[d] = s->step[d] < 0;
	box->low[d] = b2f_min_u64(x, y);
	box->step[d] = distance(s->step[d]);
	nblocks = b2f_array_grid_at(box->array, d, b2f_max_u64(x, y)) -
		  b2f_array_grid_at(box->array, d, box->low[d]) + 1;
	box->by_index[d] = box->len[d] < nblocks;
	box->count[d] = b2f_min_u64(box->len[d], nblocks);
	box->nitems *= box->len[d];
	box->n *= box->count[d];
}

void b2f_array_slice_box(const struct b2f_array *array,
			 const struct b2f_slice *slice, uint64_t item,
			 uint64_t most, struct b2f_array_box *out)
{
	unsigned int d = array->ndim;

	*out = (struct b2f_array_box){.array = array, .nitems = 1, .n = 1};
	for (unsigned int i = array->ndim; i-- > 0;) {
		out->first[i] = item % slice->count[i];
		out->len[i] = 1;
		item /= slice->count[i];
	}
	/* Whole dimensions, while the box begins at 0 and they are small. */
	while (d > 0 && out->first[d - 1] == 0 && slice->count[d - 1] <= most) {
		d--;
		out->len[d] = slice->count[d];
		most /= slice->count[d];
	}
	if (d > 0) {
		d--;
		out->len[d] =
			b2f_min_u64(slice->count[d] - out->first[d], most);
		out->len[d] =
			fit_rows(array, slice, d, out->first[d], out->len[d]);
	}
	for (unsigned int i = 0; i < array->ndim; i++)
		set_dim(out, slice, i);
}

/* Finds the block of cell @i of dimension @d, and its part of the box. */
static struct b2f_array_extent find_cell(const struct b2f_array_box *box,
					 unsigned int d, uint64_t i,
					 uint64_t *first, uint64_t *len)
{
	uint64_t low = box->low[d], step = box->step[d], end;
	struct b2f_array_extent e;

	if (box->by_index[d]) {
		*first = i;
		*len = 1;
		return b2f_array_grid_extent(
			box->array, d,
			b2f_array_grid_at(box->array, d, low + i * step));
	}
	e = b2f_array_grid_extent(box->array, d,
				  b2f_array_grid_at(box->array, d, low) + i);
	*first = e.start > low ? b2f_div_up_u64(e.start - low, step) : 0;
	end = b2f_min_u64(b2f_div_up_u64(e.end - low, step), box->len[d]);
	*len = end > *first ? end - *first : 0;
	return e;
}

bool b2f_array_slice_part(const struct b2f_array_box *box, uint64_t i,
			  struct b2f_array_part *out)
{
	const struct b2f_array *a = box->array;
	uint64_t chunks = 1, blocks = 1, items = 1;
	uint64_t block = 0, from = 0, to = 0;

	out->nchunk = 0;
	for (unsigned int d = a->ndim; d-- > 0;) {
		struct b2f_array_extent e =
			find_cell(box, d, i % box->count[d], &out->first[d],
				  &out->len[d]);
		uint64_t x = box->low[d] + out->first[d] * box->step[d];

		if (out->len[d] == 0)
			return false;
		i /= box->count[d];
		out->nchunk += e.chunk * chunks;
		block += e.block * blocks;
		from += (x - e.start) * items;
		to += (x - e.start + (out->len[d] - 1) * box->step[d]) * items;
		chunks *= b2f_div_up_u64((uint64_t)a->shape[d],
					 (uint64_t)a->chunkshape[d]);
		blocks *= b2f_array_grid_blocks(a, d);
		items *= (uint64_t)a->blockshape[d];
	}
	out->chunk_off = (block * a->block_items + from) * a->itemsize;
	out->nbytes = (to - from + 1) * a->itemsize;
	return true;
}

/* Strides of a part, in bytes. */
struct strides {
	int64_t src[B2F_ARRAY_MAX_DIM];
	int64_t dst[B2F_ARRAY_MAX_DIM];
	/* Position of its first item. */
	int64_t dst_off;
};

static void set_strides(const struct b2f_array_box *box,
			const struct b2f_array_part *part, struct strides *out)
{
	int64_t src = (int64_t)box->array->itemsize, dst = src;

	out->dst_off = 0;
	for (unsigned int d = box->array->ndim; d-- > 0;) {
		uint64_t k = part->first[d];

		/* A step that is never taken may be of any size. */
		out->src[d] =
			part->len[d] > 1 ? (int64_t)box->step[d] * src : 0;
		out->dst[d] = box->down[d] ? -dst : dst;
		if (box->down[d])
			k = box->len[d] - 1 - k;
		out->dst_off += (int64_t)k * dst;
		src *= box->array->blockshape[d];
		dst *= (int64_t)box->len[d];
	}
}

static void copy_row(const uint8_t *src, uint8_t *dst, int64_t src_stride,
		     int64_t dst_stride, uint64_t n, size_t itemsize)
{
	if (src_stride == dst_stride && src_stride == (int64_t)itemsize) {
		memcpy(dst, src, n * itemsize);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		memcpy(dst + (int64_t)i * dst_stride,
		       src + (int64_t)i * src_stride, itemsize);
}

/* The row of a part that is being copied, and where it is. */
struct place {
	uint64_t at[B2F_ARRAY_MAX_DIM];
	int64_t src;
	int64_t dst;
};

/* Goes to the next row; behind the last, to the first, and returns false. */
static bool next_row(const struct b2f_array_part *part, const struct strides *s,
		     unsigned int ndim, struct place *p)
{
	for (unsigned int d = ndim; d-- > 1;) {
		unsigned int up = d - 1;

		p->src += s->src[up];
		p->dst += s->dst[up];
		if (++p->at[up] < part->len[up])
			return true;
		p->src -= (int64_t)p->at[up] * s->src[up];
		p->dst -= (int64_t)p->at[up] * s->dst[up];
		p->at[up] = 0;
	}
	return false;
}

void b2f_array_slice_copy(const struct b2f_array_box *box,
			  const struct b2f_array_part *part, const uint8_t *src,
			  uint8_t *dst)
{
	unsigned int ndim = box->array->ndim;
	size_t itemsize = box->array->itemsize;
	struct place p = {.src = 0};
	struct strides s;

	if (ndim == 0) {
		memcpy(dst, src, itemsize);
		return;
	}
	set_strides(box, part, &s);
	p.dst = s.dst_off;
	do {
		copy_row(src + p.src, dst + p.dst, s.src[ndim - 1],
			 s.dst[ndim - 1], part->len[ndim - 1], itemsize);
	} while (next_row(part, &s, ndim, &p));
}
