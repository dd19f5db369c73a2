/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_write.c - changes to the bytes of a file
 *
 * The file grows first, then bytes are copied; so a reader may see zeros for a
 * moment, never anything else.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array/npy.h"
#include "base/checked.h"
#include "file/gather.h"
#include "file/writer.h"
#include "frame/edit_count.h"

#define NS_PER_S UINT64_C(1000000000)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void b2f_writer_note(struct b2f_writer *w)
{
	if (w->dirty_since_ns == 0)
		w->dirty_since_ns = now_ns();
	clock_gettime(CLOCK_REALTIME, &w->mtime);
	w->has_mtime = true;
}

void b2f_writer_wait_idle(struct b2f_file *file)
{
	while (file->writer->nbusy > 0)
		pthread_cond_wait(&file->writer->changed, &file->lock);
}

int b2f_change_begin(struct b2f_file *file, struct b2f_writer **out)
{
	struct b2f_writer *w;
	bool editable, clean;

	pthread_mutex_lock(&file->lock);
	w = file->writer;
	clean = w && !w->dirty_since_ns && !w->commit;
	pthread_mutex_unlock(&file->lock);
	if (!w)
		return -EBADF;
	/* The first change is made to what is on disk now. */
	if (clean)
		b2f_file_catch_up(file);
	pthread_mutex_lock(&w->write_lock);
	pthread_mutex_lock(&file->lock);
	editable = w->edit != NULL;
	pthread_mutex_unlock(&file->lock);
	if (!editable) {
		pthread_mutex_unlock(&w->write_lock);
		return -EROFS;
	}
	*out = w;
	return 0;
}

/* Pages of @d that @part writes to first, and is it the last of the chunk? */
static uint32_t count_new_pages(const struct b2f_dirty *d,
				const struct b2f_part *part)
{
	uint32_t last = (part->start + part->size - 1) / B2F_PAGE, n = 0;

	for (uint32_t i = part->start / B2F_PAGE; i <= last; i++)
		n += !b2f_dirty_has(d, i);
	return n;
}

/* What is in page @page of the chunk before it is written to. */
static int read_page(struct b2f_dirty *d, uint32_t page, uint8_t *buf)
{
	uint32_t at = page * B2F_PAGE, size = 0;

	memset(buf, 0, B2F_PAGE);
	if (at < d->base_limit)
		size = (uint32_t)b2f_min_u64(B2F_PAGE, d->base_limit - at);
	if (size == 0)
		return 0;
	return b2f_file_read_chunk(d->file, d->nchunk, d->base_raw,
				   d->base_nbytes, at, buf, size);
}

/* Pages that are written in part, and were not before. */
static int read_edges(struct b2f_dirty *d, const struct b2f_part *part,
		      struct b2f_dirty_edges *edges)
{
	uint32_t end = part->start + part->size;
	uint32_t first = part->start / B2F_PAGE, last = (end - 1) / B2F_PAGE;
	int err = 0;

	if (part->start % B2F_PAGE && !b2f_dirty_has(d, first)) {
		err = read_page(d, first, edges->page[0]);
		edges->has[0] = true;
	}
	if (err || end % B2F_PAGE == 0 || b2f_dirty_has(d, last))
		return err;
	if (last == first && edges->has[0])
		return 0;
	edges->has[1] = true;
	return read_page(d, last, edges->page[1]);
}

/*
 * Gets the record of the part, with a reference, and has the bytes counted that
 * it will take.  While there is no lock it may be encoded by somebody who needs
 * memory: then all of it again.
 */
static int prepare_part(struct b2f_file *file, const struct b2f_part *part,
			struct b2f_dirty_edges *edges, struct b2f_dirty **out)
{
	struct b2f_dirty *d = NULL, *now = NULL;
	uint64_t bytes;
	int err;

	pthread_mutex_lock(&file->lock);
	err = b2f_dirty_get(file, part->nchunk, true, &d);
	if (err) {
		pthread_mutex_unlock(&file->lock);
		return err;
	}
	b2f_dirty_ref(d);
	bytes = b2f_dirty_cost(d, count_new_pages(d, part));
	pthread_mutex_unlock(&file->lock);
	err = read_edges(d, part, edges);
	if (!err)
		err = b2f_budget_take(file, bytes);
	pthread_mutex_lock(&file->lock);
	now = b2f_dirty_find(file->writer, part->nchunk);
	if (!err && now == d && d->state == B2F_DIRTY_OPEN) {
		b2f_dirty_count(d, bytes);
		*out = d;
		return 0;
	}
	pthread_mutex_unlock(&file->lock);
	if (!err)
		b2f_budget_give(file->runtime, bytes);
	b2f_dirty_unref(d);
	/* What it read from may be gone if it was encoded meanwhile. */
	return err && now == d ? err : -EAGAIN;
}

/*
 * Removes the record of chunk @nchunk if it only repeats the chunk before: one
 * that could not be read, for a write that was refused, is not to keep others
 * from being committed.
 */
static void drop_unwritten(struct b2f_file *file, uint64_t nchunk)
{
	const struct b2f_edit *edit = file->writer->edit;
	struct b2f_dirty *d;

	pthread_mutex_lock(&file->lock);
	d = b2f_dirty_find(file->writer, nchunk);
	if (d && d->state == B2F_DIRTY_OPEN && d->nvalid == 0 &&
	    d->base_limit == d->base_nbytes &&
	    d->base_nbytes ==
		    b2f_edit_chunk_nbytes(edit, nchunk, edit->working.nbytes))
		b2f_dirty_remove(d);
	pthread_mutex_unlock(&file->lock);
}

int b2f_write_part(struct b2f_file *file, const struct b2f_part *part)
{
	struct b2f_edit *edit = file->writer->edit;
	struct b2f_dirty_edges edges;
	struct b2f_dirty *d = NULL;
	uint32_t end = part->start + part->size;
	int err;

	do {
		edges.has[0] = edges.has[1] = false;
		err = prepare_part(file, part, &edges, &d);
	} while (err == -EAGAIN);
	if (err) {
		drop_unwritten(file, part->nchunk);
		return err;
	}
	/* The file is locked. */
	b2f_dirty_write(d, part->start, part->buf, part->size, &edges);
	b2f_budget_fail(d, false);
	b2f_writer_note(file->writer);
	/* A writer in order will not come back to this chunk. */
	if (end == (uint32_t)edit->header.chunksize &&
	    b2f_dirty_is_full(d, end))
		b2f_encode_submit(d);
	pthread_mutex_unlock(&file->lock);
	b2f_dirty_unref(d);
	return 0;
}

uint64_t b2f_write_parts(struct b2f_file *file, const uint8_t *buf,
			 uint64_t size, uint64_t off, int *err)
{
	uint32_t chunksize = (uint32_t)file->writer->edit->header.chunksize;
	uint64_t done = 0;

	while (done < size) {
		uint64_t at = off + done;
		struct b2f_part part = {
			.nchunk = at / chunksize,
			.start = (uint32_t)(at % chunksize),
			.buf = buf + done,
		};

		part.size = (uint32_t)b2f_min_u64(size - done,
						  chunksize - part.start);
		*err = b2f_write_part(file, &part);
		if (*err)
			break;
		done += part.size;
	}
	return done;
}

/* After a write that failed: zeros that nobody wrote are not left. */
static void cut_back(struct b2f_file *file, uint64_t size)
{
	uint32_t chunksize = (uint32_t)file->writer->edit->header.chunksize;
	int err = b2f_size_set(file, size);

	/* Then they stay: they are what was never written. */
	(void)err;
	/* The chunk that the file ended in has its length again. */
	drop_unwritten(file, size / chunksize);
}

int b2f_file_rewrite_chunk(struct b2f_file *file, uint64_t nchunk)
{
	struct b2f_edit *edit = file->writer->edit;
	uint64_t start = nchunk * (uint32_t)edit->header.chunksize;
	uint32_t nbytes =
		b2f_edit_chunk_nbytes(edit, nchunk, edit->working.nbytes);
	uint8_t *buf = malloc(nbytes);
	struct b2f_reading r;
	int err;

	if (!buf)
		return -ENOMEM;
	b2f_reading_begin(file, &r);
	err = b2f_gather_stored(&r, buf, nbytes, start);
	b2f_reading_end(&r);
	if (!err)
		b2f_write_parts(file, buf, nbytes, start, &err);
	free(buf);
	return err;
}

/* The first bytes may be others now. */
static void forget_hint(struct b2f_writer *w, uint64_t off)
{
	if (off < B2F_NPY_MAGIC_SIZE)
		w->hint = B2F_NPY_UNKNOWN;
}

static ssize_t write_plain(struct b2f_file *file, const void *buf, size_t size,
			   uint64_t off)
{
	struct b2f_edit *edit = file->writer->edit;
	uint64_t before, done;
	int err = 0;

	forget_hint(file->writer, off);
	pthread_mutex_lock(&file->lock);
	before = edit->working.nbytes;
	if (off + size > before)
		err = b2f_size_grow(file, off + size);
	pthread_mutex_unlock(&file->lock);
	if (err)
		return err;
	done = b2f_write_parts(file, buf, size, off, &err);
	if (err && off + size > before)
		cut_back(file, b2f_max_u64(before, done ? off + done : 0));
	return done ? (ssize_t)done : err;
}

/* The write_lock is held. */
static ssize_t write_at(struct b2f_file *file, const void *buf, size_t size,
			uint64_t off)
{
	if (size > SSIZE_MAX)
		size = SSIZE_MAX;
	if (size == 0)
		return 0;
	if (off > B2F_SIZE_LIMIT || size > B2F_SIZE_LIMIT - off)
		return -EFBIG;
	if (file->frame->form.is_array)
		return b2f_array_file_write(file, buf, size, off);
	return write_plain(file, buf, size, off);
}

/* One try to write at *@off, or at the end, which *@off is set to. */
static ssize_t try_write(struct b2f_file *file, const void *buf, size_t size,
			 bool append, uint64_t *off)
{
	struct b2f_writer *w;
	ssize_t n = b2f_change_begin(file, &w);

	if (n)
		return n;
	/* Nobody else can change it now. */
	if (append)
		*off = b2f_file_size(file);
	n = write_at(file, buf, size, *off);
	pthread_mutex_unlock(&w->write_lock);
	return n;
}

static ssize_t write_file(struct b2f_file *file, const void *buf, size_t size,
			  bool append, uint64_t *off)
{
	ssize_t n;
	int err;

	b2f_reform_before(file, buf, size,
			  append ? b2f_file_size(file) : *off);
	for (;;) {
		n = try_write(file, buf, size, append, off);
		if (n != B2F_EREFORM)
			break;
		err = b2f_reform_to_plain(file, UINT64_MAX);
		if (err)
			return err;
	}
	if (n >= 0)
		b2f_writer_delete_dead(file, false);
	return n;
}

ssize_t b2f_file_pwrite(struct b2f_file *file, const void *buf, size_t size,
			uint64_t off)
{
	return write_file(file, buf, size, false, &off);
}

ssize_t b2f_file_append(struct b2f_file *file, const void *buf, size_t size,
			uint64_t *off)
{
	return write_file(file, buf, size, true, off);
}

/* Makes the whole chunk @nchunk zeros; the write_lock is held. */
static int zero_chunk(struct b2f_file *file, uint64_t nchunk)
{
	const struct b2f_edit_chunk zeros = {
		.raw = b2f_entry_raw(B2F_SPECIAL_ZEROS)};
	struct b2f_edit *edit = file->writer->edit;
	struct b2f_dirty *d = NULL;
	uint32_t old = 0;
	uint64_t raw;
	bool known;
	int err;

	pthread_mutex_lock(&file->lock);
	err = b2f_dirty_get(file, nchunk, false, &d);
	if (!err && d)
		b2f_dirty_remove(d);
	raw = edit->working.raw[nchunk];
	known = b2f_edit_known_cbytes(edit, raw, &old);
	pthread_mutex_unlock(&file->lock);
	if (err)
		return err;
	if (!known)
		old = b2f_edit_read_cbytes(edit, raw);
	pthread_mutex_lock(&file->lock);
	err = b2f_edit_put(edit, nchunk, &zeros, old);
	if (!err)
		err = b2f_size_fix_last(file);
	b2f_writer_note(file->writer);
	pthread_mutex_unlock(&file->lock);
	return err;
}

/* Zeros [@off, @end); the write_lock is held. */
static int zero_range(struct b2f_file *file, uint64_t off, uint64_t end)
{
	static const uint8_t zeros[64u << 10];
	const struct b2f_frame_header *h = &file->writer->edit->header;
	uint32_t chunksize = (uint32_t)h->chunksize;
	uint64_t size = b2f_file_size(file);
	/* An entry without a file stands for whole items. */
	bool may_be_holes = chunksize % h->typesize == 0;
	int err = 0;

	forget_hint(file->writer, off);
	while (off < end && !err) {
		uint64_t start = off / chunksize * chunksize;
		uint64_t stop = b2f_min_u64(start + chunksize, size);
		uint64_t n = b2f_min_u64(end, stop) - off;

		if (off == start && n == stop - start && may_be_holes) {
			err = zero_chunk(file, off / chunksize);
		} else {
			n = b2f_min_u64(n, sizeof(zeros));
			b2f_write_parts(file, zeros, n, off, &err);
		}
		off += n;
	}
	return err;
}

static int try_zero(struct b2f_file *file, uint64_t off, uint64_t size)
{
	struct b2f_writer *w;
	uint64_t end;
	int err = b2f_change_begin(file, &w);

	if (err)
		return err;
	end = b2f_file_size(file);
	if (off < end && size > 0) {
		end = size < end - off ? off + size : end;
		if (file->frame->form.is_array)
			err = b2f_array_file_zero(file, off, end);
		else
			err = zero_range(file, off, end);
	}
	pthread_mutex_unlock(&w->write_lock);
	return err;
}

int b2f_file_zero(struct b2f_file *file, uint64_t off, uint64_t size)
{
	int err;

	for (;;) {
		err = try_zero(file, off, size);
		if (err != B2F_EREFORM)
			break;
		err = b2f_reform_to_plain(file, UINT64_MAX);
		if (err)
			return err;
	}
	if (!err)
		b2f_writer_delete_dead(file, false);
	return err;
}
