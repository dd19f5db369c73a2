/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shape_array.c - changes to an array
 *
 * An array has one size.  A .npy file that is still being written is an array
 * whose first bytes alone exist; array_nbytes counts them.  Any other change of
 * the size, or of the header, makes the file plain first.
 */
#include <string.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "file/change.h"
#include "file/shape.h"

bool b2f_shape_keeps_size(const struct b2f_file *file)
{
	const struct b2f_layout *layout = &file->frame->layout;

	return layout->is_array &&
	       (!layout->head || !file->writer->options.npy_arrays);
}

/* The error of a change that no array can take. */
static int refuse(const struct b2f_file *file)
{
	if (!b2f_shape_keeps_size(file))
		return B2F_ERELAYOUT;
	b2f_log(file->frame->log, B2F_LOG_WARNING,
		"%s: an array keeps its size and its header: not changed",
		file->frame->label);
	return -EPERM;
}

/* Writes to the items until an error; @off counts from the first item. */
static uint64_t scatter(struct b2f_file *file, const uint8_t *buf,
			uint64_t size, uint64_t off, int *err)
{
	const struct b2f_array *a = &file->frame->array;
	uint64_t done = 0;

	while (done < size) {
		uint64_t in = (off + done) % a->itemsize;
		struct b2f_array_piece p =
			b2f_array_locate(a, (off + done) / a->itemsize);
		struct b2f_part part = {
			.nchunk = p.nchunk,
			.start = (uint32_t)(p.chunk_off + in),
			.buf = buf + done,
		};

		part.size = (uint32_t)b2f_min_u64(size - done,
						  p.nitems * a->itemsize - in);
		*err = b2f_part_write(file, &part);
		if (*err)
			break;
		done += part.size;
	}
	return done;
}

static uint64_t write_items(struct b2f_file *file, const uint8_t *buf,
			    uint64_t size, uint64_t off, int *err)
{
	if (file->frame->layout.linear)
		return b2f_part_write_range(file, buf, size, off, err);
	return scatter(file, buf, size, off, err);
}

/* Makes the first @end bytes exist.  Returns how many existed before. */
static uint64_t reach(struct b2f_file *file, uint64_t end)
{
	struct b2f_writer *w = file->writer;
	B2F_HOLD(&file->lock);
	uint64_t before = w->array_nbytes;

	if (end > before) {
		w->array_nbytes = end;
		b2f_writer_note(w);
	}
	return before;
}

/* After a failed write: bytes that were not written do not exist. */
static void step_back(struct b2f_file *file, uint64_t nbytes)
{
	pthread_mutex_lock(&file->lock);
	file->writer->array_nbytes = nbytes;
	pthread_mutex_unlock(&file->lock);
}

static ssize_t write_array(struct b2f_file *file, const uint8_t *buf,
			   uint64_t size, uint64_t off)
{
	const struct b2f_layout *layout = &file->frame->layout;
	uint64_t skip = 0, done, before;
	int err = 0;

	if (off + size > layout->head_len + layout->nbytes)
		return refuse(file);
	if (off < layout->head_len) {
		skip = b2f_min_u64(size, layout->head_len - off);
		if (memcmp(layout->head + off, buf, skip))
			return refuse(file);
	}
	before = reach(file, off + size);
	done = skip;
	if (size > skip)
		done += write_items(file, buf + skip, size - skip,
				    off + skip - layout->head_len, &err);
	if (err && off + size > before)
		step_back(file, b2f_max_u64(before, done ? off + done : 0));
	return done ? (ssize_t)done : err;
}

static int resize_array(struct b2f_file *file, uint64_t size)
{
	const struct b2f_layout *layout = &file->frame->layout;
	uint64_t now = b2f_file_size(file);

	if (size == now)
		return 0;
	if (size < now || size > layout->head_len + layout->nbytes)
		return refuse(file);
	reach(file, size);
	return 0;
}

/* Makes every chunk of the array zeros, with its padding. */
static int zero_all(struct b2f_file *file)
{
	int err = 0;

	for (uint64_t i = 0; i < file->writer->txn->working.n && !err; i++)
		err = b2f_shape_plain_zero_chunk(file, i);
	return err;
}

static int zero_array(struct b2f_file *file, uint64_t off, uint64_t end)
{
	static const uint8_t zeros[64u << 10];
	const struct b2f_frame_header *h = &file->writer->txn->header;
	const struct b2f_layout *layout = &file->frame->layout;
	ssize_t n = 0;

	if (off == layout->head_len && end == off + layout->nbytes &&
	    end == b2f_file_size(file) &&
	    (uint32_t)h->chunksize % h->typesize == 0)
		return zero_all(file);
	for (; off < end && n >= 0; off += (uint64_t)n)
		n = write_array(file, zeros,
				b2f_min_u64(end - off, sizeof(zeros)), off);
	return n < 0 ? (int)n : 0;
}

const struct b2f_shape b2f_shape_array = {
	.write = write_array,
	.resize = resize_array,
	.zero = zero_array,
};
