/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.c - what a frame shows as a file */
#include <stdlib.h>
#include <string.h>

#include "array/array_cells.h"
#include "array/npy.h"
#include "base/checked.h"
#include "base/log_line.h"
#include "frame/carrier.h"
#include "frame/frame.h"
#include "frame/tensor.h"

const struct b2f_meta *b2f_frame_array_meta(const struct b2f_frame *frame)
{
	const struct b2f_meta *m = b2f_meta_find(&frame->meta, "b2nd");

	return m ? m : b2f_meta_find(&frame->meta, "caterva");
}

/*
 * Tells why the chunks do not fit the array, or NULL. A program that resizes an
 * array in place writes shape and chunks one after the other; in between the
 * chunks do not fit the shape.
 */
static const char *misfit(const struct b2f_frame *f)
{
	const struct b2f_array *a = &f->array;
	uint64_t chunk_nbytes = a->chunk_items * a->itemsize;

	if (!f->is_array)
		return "the metalayer of the array is broken";
	if (a->nchunks != f->entries.n)
		return "it has not as many chunks as its shape asks for";
	if (f->entries.n == 0)
		return NULL;
	if (f->header.chunksize <= 0 ||
	    (uint64_t)f->header.chunksize != chunk_nbytes ||
	    f->header.nbytes != a->nchunks * chunk_nbytes)
		return "its chunks are not as large as their shape asks for";
	return NULL;
}

/* True if @npy is the header of just this array. */
static bool describes(const struct b2f_npy *npy, size_t len,
		      const struct b2f_array *a)
{
	if (npy->size != len || npy->fortran_order || npy->ndim != a->ndim ||
	    npy->itemsize != a->itemsize)
		return false;
	for (unsigned int i = 0; i < a->ndim; i++)
		if (npy->shape[i] != a->shape[i])
			return false;
	return true;
}

/*
 * Takes the header that was written with the array, byte for byte.  If another
 * program has changed the array since, a new header describes it.
 */
static int set_head(struct b2f_frame *f, const uint8_t *packed, size_t size)
{
	struct b2f_layout *layout = &f->layout;
	const uint8_t *head = NULL;
	struct b2f_npy npy = {0};
	size_t len = 0;
	bool same = false;

	if (!b2f_npy_unpack(packed, size, &head, &len) &&
	    !b2f_npy_parse(head, len, &npy)) {
		same = describes(&npy, len, &f->array);
		b2f_npy_fini(&npy);
	}
	if (!same)
		return b2f_npy_write(&f->array, &layout->head, &layout->head_len);
	layout->head = malloc(len);
	if (!layout->head)
		return -ENOMEM;
	memcpy(layout->head, head, len);
	layout->head_len = len;
	return 0;
}

static int find_head(struct b2f_frame *f)
{
	uint8_t *content = NULL;
	size_t size = 0;
	int err;

	/* If the header is damaged, the first bytes of the file are unknown. */
	err = b2f_frame_vlmeta_find(f, B2F_NPY_META, &content, &size);
	if (!err)
		err = set_head(f, content, size);
	free(content);
	return err == -ENODATA ? 0 : err;
}

/* Sets what the chunks hold, if that can be shown. */
static int set_array(struct b2f_frame *f)
{
	struct b2f_layout *layout = &f->layout;
	const char *text = misfit(f);
	int err;

	layout->is_array = true;
	if (text) {
		b2f_log(f->log, B2F_LOG_WARNING, "%s: not readable as an array: %s",
			f->label, text);
		layout->err = B2F_ECORRUPT;
		return 0;
	}
	layout->linear = b2f_array_is_linear(&f->array);
	layout->nbytes = f->array.nitems * f->array.itemsize;
	err = find_head(f);
	if (err == -ENOMEM)
		return err;
	layout->err = err;
	return 0;
}

/* Refuses a frame whose bytes a reader of a file would misunderstand. */
static void refuse(struct b2f_frame *f)
{
	if (f->layout.carrier[0])
		b2f_log(f->log, B2F_LOG_WARNING,
			"%s: not readable: it stands for %s of python-blosc2, "
			"and does not hold the data",
			f->label, f->layout.carrier);
	else if (f->join_objects)
		return;
	else
		b2f_log(f->log, B2F_LOG_WARNING,
			"%s: not readable: it is %s of python-blosc2, and "
			"holds serialized objects, no plain bytes",
			f->label, f->layout.objects);
	f->layout.err = B2F_EUNSUPPORTED;
}

int b2f_layout_set(struct b2f_frame *f)
{
	struct b2f_layout *layout = &f->layout;
	int err;

	*layout = (struct b2f_layout){.linear = true, .nbytes = f->header.nbytes};
	err = b2f_frame_array_meta(f) ? set_array(f) : b2f_tensor_set(f);
	if (!err)
		err = b2f_carrier_find(f, layout->carrier);
	layout->objects = b2f_carrier_objects(f);
	if (err || (!layout->carrier[0] && !layout->objects))
		return err;
	refuse(f);
	return 0;
}

const char *b2f_frame_objects(const struct b2f_frame *frame)
{
	return frame->layout.objects;
}

const char *b2f_frame_stands_for(const struct b2f_frame *frame)
{
	return frame->layout.carrier[0] ? frame->layout.carrier : NULL;
}

int b2f_frame_shown_error(const struct b2f_frame *frame)
{
	return frame->layout.err;
}

uint64_t b2f_frame_shown_nbytes(const struct b2f_frame *frame)
{
	return frame->layout.head_len + frame->layout.nbytes;
}

bool b2f_frame_is_npy(const struct b2f_frame *frame)
{
	return frame->layout.head != NULL;
}

int b2f_frame_npy_header(const struct b2f_frame *frame, uint8_t **out,
			 size_t *len)
{
	const struct b2f_layout *layout = &frame->layout;

	if (frame->is_tensor && !layout->err)
		return b2f_npy_write(&frame->array, out, len);
	if (!layout->is_array || layout->err)
		return layout->is_array ? layout->err : B2F_EUNSUPPORTED;
	if (!layout->head)
		return b2f_npy_write(&frame->array, out, len);
	*out = malloc(layout->head_len);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, layout->head, layout->head_len);
	*len = layout->head_len;
	return 0;
}
