/* SPDX-License-Identifier: BSD-3-Clause */
/* blp_base.c - the Bloscpack file that a longer one begins with */
#include "make/blp_base.h"

#include <stdlib.h>

#include "base/checked.h"
#include "blp/blp_store.h"
#include "chunk/chunk_header.h"
#include "frame/frame.h"
#include "frame/json_array.h"
#include "store/single.h"

/* Stored bytes that are copied at once. */
#define STEP (UINT64_C(1) << 20)

static int read_stored(const struct b2f_blp_base *base, uint64_t off, void *buf,
		       uint64_t n, struct b2f_why *why)
{
	return b2f_object_read(&base->object, base->lead + off, buf, n, why);
}

static int choose_size(struct b2f_blp_base *base, uint32_t least,
		       struct b2f_why *why)
{
	const struct b2f_blp *blp = base->blp;
	uint32_t size = (uint32_t)blp->chunksize, item = blp->header.typesize;

	if (blp->nchunks > 1 && blp->chunksize == 0)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "its chunks have no common size");
	if (blp->nchunks <= 1 && size < least)
		size = least - (item ? least % item : 0);
	base->chunk_size = size;
	base->nkept = base->nbytes / size;
	return 0;
}

/* Stray bytes may follow the last chunk, so its header tells where it ends. */
static int find_end(struct b2f_blp_base *base, struct b2f_why *why)
{
	const struct b2f_blp *blp = base->blp;
	uint8_t raw[B2F_CHUNK_HEADER_MIN];
	struct b2f_chunk_header h;
	uint64_t last = base->nkept - 1;
	int err;

	base->kept_end = blp->start;
	if (base->nkept == 0)
		return 0;
	if (base->nkept < blp->nchunks) {
		base->kept_end = blp->offs[base->nkept];
		return 0;
	}
	err = read_stored(base, blp->offs[last], raw, sizeof(raw), why);
	if (!err)
		err = b2f_chunk_header_parse(raw, sizeof(raw), &h, why);
	if (!err && !b2f_range_fits(h.cbytes, blp->header.sum->size,
				    blp->size - blp->offs[last]))
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "the last chunk is cut short");
	if (!err)
		base->kept_end =
			blp->offs[last] + h.cbytes + blp->header.sum->size;
	return err;
}

int b2f_blp_base_open(struct b2f_runtime *runtime, struct b2f_frame *frame,
		      uint32_t least, struct b2f_blp_base *base,
		      struct b2f_why *why)
{
	int err;

	base->blp = b2f_blp_of(frame->store);
	if (!base->blp)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "it is no Bloscpack file");
	base->lead = frame->store->lead;
	base->nbytes = base->blp->nbytes;
	err = choose_size(base, least, why);
	if (!err)
		err = b2f_object_open(frame->store, B2F_OBJECT_INDEX,
				      &base->object, why);
	if (!err)
		err = find_end(base, why);
	if (err)
		return err;
	err = b2f_file_open(runtime, b2f_frame_ref(frame), &base->file);
	if (err)
		b2f_frame_close(frame);
	return err;
}

void b2f_blp_base_close(struct b2f_blp_base *base)
{
	b2f_file_close(base->file);
	b2f_object_close(&base->object);
	*base = (struct b2f_blp_base){.blp = NULL};
}

int b2f_blp_base_read(const struct b2f_blp_base *base, uint64_t off, void *buf,
		      uint32_t n, uint32_t *got)
{
	uint32_t part = 0;
	ssize_t ret = 0;

	if (off < base->nbytes)
		part = (uint32_t)b2f_min_u64(n, base->nbytes - off);
	if (part > 0)
		ret = b2f_file_pread(base->file, NULL, buf, part, off);
	if (ret < 0)
		return (int)ret;
	*got = part;
	return (uint32_t)ret == part ? 0 : B2F_ECORRUPT;
}

int b2f_blp_base_copy(const struct b2f_blp_base *base, uint64_t from,
		      uint64_t end, int fd, uint64_t to, struct b2f_why *why)
{
	uint8_t *buf = malloc(STEP);
	int err = buf ? 0 : -ENOMEM;

	while (from < end && !err) {
		uint64_t n = b2f_min_u64(end - from, STEP);

		err = read_stored(base, from, buf, n, why);
		if (!err)
			err = b2f_single_write(fd, to, buf, n, why);
		from += n;
		to += n;
	}
	free(buf);
	return err;
}

int b2f_blp_base_grow(const struct b2f_blp_base *base,
		      const struct b2f_array *array, uint64_t nbytes,
		      char **out, struct b2f_why *why)
{
	struct b2f_array grown = *array;
	uint64_t row = array->itemsize;
	unsigned int axis = 0;

	if (array->ndim == 0)
		return b2f_why_set(why, -EINVAL,
				   "it is an array without dimensions");
	if (array->fortran_order)
		axis = array->ndim - 1;
	for (unsigned int i = 0; i < array->ndim; i++)
		if (i != axis &&
		    !b2f_mul_u64(row, (uint64_t)array->shape[i], &row))
			return b2f_why_set(why, -EINVAL, "its rows are too long");
	if (row == 0 || nbytes % row)
		return b2f_why_set(why, -EINVAL,
				   "it is an array whose rows have %llu bytes, "
				   "and %llu are no whole number of them",
				   (unsigned long long)row,
				   (unsigned long long)nbytes);
	grown.shape[axis] += (int64_t)(nbytes / row);
	return b2f_json_array_reshape(base->blp->json, base->blp->json_len,
				      &grown, out);
}
