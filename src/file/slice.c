/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slice.c - a part of an array, box by box
 *
 * The cell of a block is copied from its first item to its last one, and the
 * items are picked from the copy: that costs little beside the decoding.
 */
#include "b2frame/slice.h"

#include <stdlib.h>

#include "array/array_slice.h"
#include "array/npy.h"
#include "base/checked.h"
#include "file/gather.h"

/* Bytes of the slice that are in memory at once; at least one item. */
#define BOX_BYTES (UINT64_C(64) << 20)

struct slicing {
	struct b2f_file *file;
	const struct b2f_slice *slice;
	/*
	 * Facts about the array at the beginning; and the number of items of
	 * the slice.
	 */
	uint32_t itemsize;
	uint64_t nitems;
	/* The next item, its box, and a buffer for the items. */
	uint64_t item;
	const struct b2f_reading *reading;
	struct b2f_array_box box;
	uint8_t *buf;
};

static int copy_part(void *arg, size_t i)
{
	const struct slicing *s = arg;
	const struct b2f_frame *frame = s->reading->frame;
	struct b2f_array_part part;
	B2F_OWN uint8_t *tmp = NULL;
	int err;

	if (!b2f_array_slice_part(&s->box, i, &part))
		return 0;
	tmp = malloc(part.nbytes);
	if (!tmp)
		return -ENOMEM;
	err = b2f_gather_stored(
		s->reading, tmp, part.nbytes,
		part.nchunk * (uint32_t)frame->header.chunksize +
			part.chunk_off);
	if (!err)
		b2f_array_slice_copy(&s->box, &part, tmp, s->buf);
	return err;
}

/* Does @slice fit the array of @frame? */
static bool is_slice_of(const struct b2f_frame *frame,
			const struct b2f_slice *slice)
{
	return frame->layout.is_array && !frame->layout.err &&
	       b2f_array_slice_fits(&frame->array, slice);
}

static uint64_t box_items(const struct slicing *s)
{
	return b2f_max_u64(1, BOX_BYTES / s->itemsize);
}

/* Reads the box that begins with the next item. */
static int64_t read_box(void *arg, struct b2f_reading *r)
{
	struct slicing *s = arg;
	const struct b2f_frame *frame = r->frame;

	/* Another program may have replaced the array. */
	if (!is_slice_of(frame, s->slice) ||
	    frame->array.itemsize != s->itemsize)
		return -EINVAL;
	s->reading = r;
	b2f_array_slice_box(&frame->array, s->slice, s->item, box_items(s),
			    &s->box);
	return b2f_pool_for(s->file->runtime->pool, B2F_POOL_DEMAND, s->box.n,
			    copy_part, s);
}

/* Checks the slice, and counts its items. */
static int64_t measure(void *arg, struct b2f_reading *r)
{
	struct slicing *s = arg;

	if (!is_slice_of(r->frame, s->slice))
		return -EINVAL;
	s->itemsize = r->frame->array.itemsize;
	s->nitems = b2f_array_slice_nitems(&r->frame->array, s->slice);
	return 0;
}

int b2f_slice_read(struct b2f_file *file, const struct b2f_slice *slice,
		   int (*piece)(void *arg, const void *data, size_t size),
		   void *arg)
{
	struct slicing s = {.file = file, .slice = slice};
	int err = (int)b2f_file_retry(file, measure, &s);

	if (err || s.nitems == 0)
		return err;
	s.buf = malloc(b2f_min_u64(s.nitems, box_items(&s)) * s.itemsize);
	if (!s.buf)
		return -ENOMEM;
	for (; s.item < s.nitems && !err; s.item += s.box.nitems) {
		err = (int)b2f_file_retry(file, read_box, &s);
		if (!err)
			err = piece(arg, s.buf, s.box.nitems * s.itemsize);
	}
	free(s.buf);
	return err;
}

int b2f_slice_npy_header(const struct b2f_frame *frame, unsigned int ndim,
			 const int64_t *shape, uint8_t **out, size_t *len)
{
	struct b2f_array array = frame->array;

	if (!frame->layout.is_array || frame->layout.err)
		return frame->layout.is_array ? frame->layout.err
					    : B2F_EUNSUPPORTED;
	array.ndim = ndim;
	for (unsigned int d = 0; d < ndim; d++)
		array.shape[d] = shape[d];
	return b2f_npy_write(&array, out, len);
}
