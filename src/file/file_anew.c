/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_anew.c - replaces an array by one written from the beginning
 *
 * A program that cuts a file to nothing and writes it again replaces the whole
 * array.  So the old array stays on disk until the new one is complete: from
 * b2f_file_begin_anew() to b2f_file_end_anew() nothing is committed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log_line.h"
#include "file/relayout.h"
#include "file/shape.h"
#include "frame/layout_index.h"
#include "programs/file_form.h"

bool b2f_file_keeps_size(struct b2f_file *file)
{
	B2F_HOLD(&file->lock);

	return file->writer && b2f_shape_keeps_size(file);
}

static int refuse(const struct b2f_file *file, const char *text)
{
	b2f_log(file->frame->log, B2F_LOG_WARNING,
		"%s: not replaced: %s; the old array stays",
		file->frame->label, text);
	return -EPERM;
}

/* Is @head the header that is shown before the items of @frame? */
static int is_head_of(const struct b2f_frame *frame, const uint8_t *head,
		      size_t size)
{
	B2F_OWN uint8_t *own = NULL;
	size_t len = 0;
	int ret = b2f_frame_npy_header(frame, &own, &len);

	if (!ret)
		ret = size >= len && !memcmp(own, head, len) ? (int)len : 0;
	return ret;
}

/* Makes a frame for the array that @head describes.  Returns 0 or an errno. */
static int derive(struct b2f_file *file, const struct b2f_npy *npy,
		  const uint8_t *head, struct b2f_frame **out)
{
	int err, n;

	if (npy->fortran_order && npy->ndim > 1)
		return refuse(file, "the new items are in Fortran order");
	err = b2f_layout_npy(file->frame, npy, NULL,
			     b2f_writer_chunksize(file->writer), out);
	if (err == B2F_EUNSUPPORTED || err == B2F_ETOOBIG)
		return refuse(file, "no array can have that shape and type");
	if (err)
		return err;
	n = is_head_of(*out, head, npy->size);
	if (n == (int)npy->size && b2f_layout_has_room(*out, file->frame))
		return 0;
	b2f_frame_close(*out);
	if (n < 0)
		return n;
	return refuse(file, n == 0 ? "its header differs from numpy's own "
				     "format"
				   : "a contiguous frame has no room for such "
				     "a header");
}

/*
 * Replaces the array by the one that @head describes.  Returns the length of
 * the header.
 */
static ssize_t become_other(struct b2f_file *file, const uint8_t *head,
			    size_t size)
{
	struct b2f_frame *frame = NULL;
	struct b2f_npy npy;
	ssize_t n;
	int err = b2f_npy_parse(head, size, &npy);

	if (err == -EAGAIN || err == -ENOMEM)
		return err;
	if (err)
		return refuse(file, "it does not begin with a .npy header");
	n = (ssize_t)npy.size;
	err = derive(file, &npy, head, &frame);
	b2f_npy_fini(&npy);
	if (err)
		return err;
	err = b2f_relayout_to_zeros(file, frame);
	b2f_frame_close(frame);
	return err ? err : n;
}

/* All items become zeros. */
static int become_zeros(struct b2f_file *file)
{
	const struct b2f_layout *layout = &file->frame->layout;
	struct b2f_writer *w = file->writer;
	uint64_t end = layout->head_len + layout->nbytes;
	int err;

	pthread_mutex_lock(&file->lock);
	w->anew = B2F_ANEW_BEGUN;
	w->array_nbytes = end;
	pthread_mutex_unlock(&file->lock);
	err = b2f_shape_array.zero(file, layout->head_len, end);
	pthread_mutex_lock(&file->lock);
	w->array_nbytes = 0;
	pthread_mutex_unlock(&file->lock);
	return err;
}

/* Shown bytes of the whole array. */
static uint64_t whole_of(const struct b2f_file *file)
{
	const struct b2f_frame *frame = file->frame;
	const struct b2f_layout *layout = &frame->layout;

	return layout->is_array
		       ? layout->head_len + layout->nbytes
		       : frame->array.nitems * frame->array.itemsize;
}

/*
 * Empties a plain file that describes its own array: it is written from the
 * beginning, and is the same array in the end.
 */
static int become_empty(struct b2f_file *file)
{
	if (b2f_file_size(file) != whole_of(file))
		return refuse(file, "another program has changed its size");
	return b2f_shape_plain.resize(file, 0);
}

/* Returns why plain data cannot be replaced with @head. */
static ssize_t refuse_head(struct b2f_file *file, const uint8_t *head,
			   size_t size)
{
	struct b2f_npy npy;
	int err = b2f_npy_parse(head, size, &npy);

	if (!err)
		b2f_npy_fini(&npy);
	if (err == -EAGAIN || err == -ENOMEM)
		return err;
	return refuse(file, "it keeps its shape and type");
}

/* Both locks are held. */
static ssize_t begin(struct b2f_file *file, const uint8_t *head, size_t size)
{
	struct b2f_writer *w = file->writer;
	bool keeps_size = b2f_file_keeps_size(file);
	ssize_t n = 0;
	int err;

	if (!w->txn)
		return -EROFS;
	if (!head && !keeps_size)
		return -EPERM;
	if (head)
		n = is_head_of(file->frame, head, size);
	if (n < 0)
		return n;
	if (head && n == 0)
		n = keeps_size ? become_other(file, head, size)
			       : refuse_head(file, head, size);
	else if ((err = keeps_size ? become_zeros(file) : become_empty(file)))
		n = err;
	if (n < 0)
		return n;
	B2F_HOLD(&file->lock);
	w->anew = B2F_ANEW_BEGUN;
	b2f_writer_note(w);
	return n;
}

ssize_t b2f_file_begin_anew(struct b2f_file *file, const void *head,
			    size_t size)
{
	struct b2f_writer *w = file->writer;
	ssize_t n;

	if (!w)
		return -EBADF;
	b2f_writer_lock(file);
	n = begin(file, head, size);
	b2f_writer_unlock(file);
	return n;
}

/* Plain data become zeros if nothing was written. */
static int make_zeros(struct b2f_file *file)
{
	uint64_t size;

	pthread_mutex_lock(&file->lock);
	size = file->writer && file->writer->anew &&
			       !file->frame->layout.is_array &&
			       b2f_file_size_locked(file) == 0
		       ? whole_of(file)
		       : 0;
	pthread_mutex_unlock(&file->lock);
	return size ? b2f_file_truncate(file, size) : 0;
}

int b2f_file_end_anew(struct b2f_file *file, bool may_be_zeros)
{
	struct b2f_writer *w;
	int err = may_be_zeros ? make_zeros(file) : 0;

	if (err)
		return err;
	pthread_mutex_lock(&file->lock);
	w = file->writer;
	if (w && w->anew) {
		if (w->array_nbytes == 0 && may_be_zeros)
			w->array_nbytes = whole_of(file);
		if (b2f_file_size_locked(file) == whole_of(file))
			w->anew = B2F_ANEW_NOT;
		else
			err = -EPERM;
	}
	pthread_mutex_unlock(&file->lock);
	return err ? refuse(file, "not all of it was written") : 0;
}
