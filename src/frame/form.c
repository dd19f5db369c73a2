/* SPDX-License-Identifier: BSD-3-Clause */
/* form.c - what a frame shows as a file */
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
 * Why the chunks cannot be those of the array, or NULL.  A program
 * that resizes an array in place writes shape and chunks one after the other;
 * in between the chunks are in no order that the shape tells.
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
 * program has changed the array since, it gets one that describes it.
 */
static int set_head(struct b2f_frame *f, const uint8_t *packed, size_t size)
{
	struct b2f_form *form = &f->form;
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
		return b2f_npy_write(&f->array, &form->head, &form->head_len);
	form->head = malloc(len);
	if (!form->head)
		return -ENOMEM;
	memcpy(form->head, head, len);
	form->head_len = len;
	return 0;
}

static int find_head(struct b2f_frame *f)
{
	uint8_t *content = NULL;
	size_t size = 0;
	int err;

	/* If it is damaged, what the file begins with is not known. */
	err = b2f_frame_vlmeta_find(f, B2F_NPY_META, &content, &size);
	if (!err)
		err = set_head(f, content, size);
	free(content);
	return err == -ENODATA ? 0 : err;
}

/* Sets what the chunks hold, if that can be shown. */
static int set_array(struct b2f_frame *f)
{
	struct b2f_form *form = &f->form;
	const char *text = misfit(f);
	int err;

	form->is_array = true;
	if (text) {
		b2f_log(f->log, B2F_LOG_WARNING, "%s: not readable as an array: %s",
			f->label, text);
		form->err = B2F_ECORRUPT;
		return 0;
	}
	form->linear = b2f_array_is_linear(&f->array);
	form->nbytes = f->array.nitems * f->array.itemsize;
	err = find_head(f);
	if (err == -ENOMEM)
		return err;
	form->err = err;
	return 0;
}

/* Its bytes would not be what a reader of a file takes them for. */
static void refuse(struct b2f_frame *f)
{
	if (f->form.carrier[0])
		b2f_log(f->log, B2F_LOG_WARNING,
			"%s: not readable: it stands for %s of python-blosc2, "
			"and does not hold the data",
			f->label, f->form.carrier);
	else if (f->join_objects)
		return;
	else
		b2f_log(f->log, B2F_LOG_WARNING,
			"%s: not readable: it is %s of python-blosc2, and "
			"holds serialized objects, no plain bytes",
			f->label, f->form.objects);
	f->form.err = B2F_EUNSUPPORTED;
}

int b2f_form_set(struct b2f_frame *f)
{
	struct b2f_form *form = &f->form;
	int err;

	*form = (struct b2f_form){.linear = true, .nbytes = f->header.nbytes};
	err = b2f_frame_array_meta(f) ? set_array(f) : b2f_tensor_set(f);
	if (!err)
		err = b2f_carrier_find(f, form->carrier);
	form->objects = b2f_carrier_objects(f);
	if (err || (!form->carrier[0] && !form->objects))
		return err;
	refuse(f);
	return 0;
}

const char *b2f_frame_objects(const struct b2f_frame *frame)
{
	return frame->form.objects;
}

const char *b2f_frame_stands_for(const struct b2f_frame *frame)
{
	return frame->form.carrier[0] ? frame->form.carrier : NULL;
}

int b2f_frame_shown_error(const struct b2f_frame *frame)
{
	return frame->form.err;
}

uint64_t b2f_frame_shown_nbytes(const struct b2f_frame *frame)
{
	return frame->form.head_len + frame->form.nbytes;
}

bool b2f_frame_is_npy(const struct b2f_frame *frame)
{
	return frame->form.head != NULL;
}

int b2f_frame_npy_header(const struct b2f_frame *frame, uint8_t **out,
			 size_t *len)
{
	const struct b2f_form *form = &frame->form;

	if (frame->is_tensor && !form->err)
		return b2f_npy_write(&frame->array, out, len);
	if (!form->is_array || form->err)
		return form->is_array ? form->err : B2F_EUNSUPPORTED;
	if (!form->head)
		return b2f_npy_write(&frame->array, out, len);
	*out = malloc(form->head_len);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, form->head, form->head_len);
	*len = form->head_len;
	return 0;
}
