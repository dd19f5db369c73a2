/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * relayout.c - turns a .npy file into an array, and back
 *
 *   an empty file, and a header is written      array that is not complete
 *   header alone, and it is made longer         array that is not complete
 *   a commit finds a whole .npy file            array
 *   a commit finds an array not complete        plain
 *   a change that no array can take             plain, then the change
 *   an array is written anew (file_anew.c)      another array
 *
 * The shown bytes stay the same.  They are read and encoded again, except in
 * the first two cases, where there are none yet: a program that writes a .npy
 * file from beginning to end writes an array from the start.
 */
#include <stdlib.h>
#include <string.h>

#include "array/array_cells.h"
#include "base/checked.h"
#include "file/reading.h"
#include "file/relayout.h"
#include "file/writer.h"
#include "frame/layout_index.h"
#include "txn/chunk_write.h"

/*
 * Most chunks of a plain frame that was an array.  Chunks of whole items may
 * have to be smaller by almost a half, and the header needs some as well.
 */
#define NCHUNKS_PLAIN (3 * B2F_LAYOUT_NCHUNKS_MAX)

struct relayout {
	struct b2f_file *file;
	struct b2f_writer *writer;
	/* The new frame, without chunks. */
	struct b2f_frame *frame;
	struct b2f_txn_state state;
	/* Shown bytes that are kept. */
	uint64_t size;
	/* All bytes from the last examined position to this one are a hole. */
	uint64_t data_at;
	struct b2f_encoder *encoder;
	/* Buffer for one chunk. */
	uint8_t *buf;
};

/* Reads shown bytes at @off; bytes that are not kept are zeros. */
static int read_shown(struct relayout *r, uint8_t *buf, uint64_t size,
		      uint64_t off)
{
	uint64_t n = off < r->size ? b2f_min_u64(size, r->size - off) : 0;
	ssize_t got = 0;

	if (n)
		got = b2f_file_pread(r->file, NULL, buf, n, off);
	if (got >= 0 && (uint64_t)got < n)
		return -EIO;
	memset(buf + n, 0, size - n);
	return got < 0 ? (int)got : 0;
}

static int read_items(void *arg, uint8_t *buf, uint64_t nbytes, uint64_t off)
{
	struct relayout *r = arg;

	return read_shown(r, buf, nbytes, r->frame->layout.head_len + off);
}

/* Chunk @i of the array, padding and all. */
static int fill_array_chunk(struct relayout *r, uint64_t i, uint32_t nbytes)
{
	memset(r->buf, 0, nbytes);
	return b2f_array_read_chunk(&r->frame->array, i, read_items, r, r->buf);
}

/* Encodes the items in the buffer. */
static int write_chunk(struct relayout *r, uint64_t i, uint32_t nbytes,
		       struct b2f_txn_chunk *out)
{
	struct b2f_chunk_writer cw = {
		.txn = r->writer->txn,
		.encoder = r->encoder,
		.as = r->frame,
		.no_seal = r->writer->options.no_seal,
	};

	return b2f_chunk_write(&cw, i, r->buf, nbytes, out);
}

/* Is [@off, @off + @size) of the shown bytes a hole? */
static bool is_hole(struct relayout *r, uint64_t off, uint64_t size)
{
	int64_t pos;

	if (off >= r->data_at) {
		pos = b2f_file_seek_data(r->file, off);
		if (pos < 0 && pos != -ENXIO)
			return false;
		r->data_at = pos < 0 ? UINT64_MAX : (uint64_t)pos;
	}
	return off + size <= r->data_at;
}

/*
 * Is the whole range of chunk @i a hole now?  Known only if its items follow
 * each other in the file.
 */
static bool is_empty(struct relayout *r, uint64_t i, uint32_t nbytes)
{
	const struct b2f_layout *layout = &r->frame->layout;

	return layout->linear &&
	       is_hole(r,
		       layout->head_len +
			       i * (uint32_t)r->frame->header.chunksize,
		       nbytes);
}

static uint32_t chunk_nbytes(const struct relayout *r, uint64_t i)
{
	uint64_t chunksize = (uint32_t)r->frame->header.chunksize;

	return (uint32_t)b2f_min_u64(chunksize,
				     r->state.nbytes - i * chunksize);
}

/* An entry of zeros can only describe whole items. */
static bool can_be_hole(const struct relayout *r, uint32_t nbytes)
{
	return nbytes % r->frame->header.typesize == 0;
}

static int make_chunk(struct relayout *r, uint64_t i)
{
	uint32_t nbytes = chunk_nbytes(r, i);
	struct b2f_txn_chunk chunk;
	int err;

	/* The new state begins with zeros. */
	if (is_empty(r, i, nbytes) && can_be_hole(r, nbytes))
		return 0;
	if (r->frame->layout.is_array)
		err = fill_array_chunk(r, i, nbytes);
	else
		err = read_shown(r, r->buf, nbytes,
				 i * (uint32_t)r->frame->header.chunksize);
	if (!err)
		err = write_chunk(r, i, nbytes, &chunk);
	if (err)
		return err;
	/* The state is not shared yet. */
	b2f_pages_set(&r->state.pages, i, chunk.raw);
	r->state.cbytes += chunk.cbytes;
	return 0;
}

/* Makes a state of zeros of the final size. */
static int make_state(struct relayout *r)
{
	uint64_t chunksize = (uint32_t)r->frame->header.chunksize;
	struct b2f_txn_state *s = &r->state;

	if (r->frame->layout.is_array) {
		s->n = r->frame->array.nchunks;
		s->nbytes = s->n * chunksize;
	} else {
		s->n = b2f_div_up_u64(r->size, chunksize);
		s->nbytes = r->size;
		/* The array had larger chunks. */
		if (s->n > NCHUNKS_PLAIN)
			return B2F_ETOOBIG;
	}
	if (b2f_pages_reserve(&s->pages, b2f_max_u64(s->n, 1))) {
		s->n = 0;
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < s->n; i++)
		b2f_pages_set(&s->pages, i, b2f_entry_raw(B2F_SPECIAL_ZEROS));
	return 0;
}

/* Do the chunks get any data? */
static bool has_data(const struct relayout *r)
{
	return r->size > r->frame->layout.head_len;
}

static int make_chunks(struct relayout *r)
{
	int err = make_state(r);

	if (err || !has_data(r) || r->state.n == 0)
		return err;
	r->buf = malloc(chunk_nbytes(r, 0));
	err = r->buf ? b2f_encoder_new(&r->encoder) : -ENOMEM;
	for (uint64_t i = 0; i < r->state.n && !err; i++)
		err = make_chunk(r, i);
	return err;
}

/* Gives the file its new layout. */
static int swap(struct relayout *r)
{
	struct b2f_file *file = r->file;
	struct b2f_writer *w = r->writer;
	int err;

	pthread_mutex_lock(&file->lock);
	b2f_writer_wait_idle(file);
	err = b2f_txn_relayout(w->txn, r->frame, &r->state);
	if (!err) {
		b2f_record_remove_from(w, 0);
		b2f_file_set_frame(file, b2f_frame_ref(r->frame));
		w->array_nbytes = r->size;
		w->guess_typesize = false;
	}
	pthread_mutex_unlock(&file->lock);
	if (!err)
		b2f_head_forget_all(file);
	return err;
}

/* Frees @r, and after a failure the chunks that were made. */
static void fini(struct relayout *r)
{
	struct b2f_txn *txn = r->writer->txn;

	pthread_mutex_lock(&r->file->lock);
	for (uint64_t i = 0; r->state.pages.n && i < r->state.n; i++)
		/* Without memory for the list, the next writer deletes it. */
		if (b2f_txn_drop(txn, b2f_txn_raw(&r->state, i)))
			break;
	pthread_mutex_unlock(&r->file->lock);
	b2f_txn_state_fini(&r->state);
	b2f_encoder_free(r->encoder);
	b2f_frame_close(r->frame);
	free(r->buf);
}

/*
 * Gives @file the layout of @frame, which it takes over.  Both locks are held.
 */
static int relayout(struct b2f_file *file, struct b2f_frame *frame, uint64_t size)
{
	struct relayout r = {
		.file = file,
		.writer = file->writer,
		.frame = frame,
		.size = size,
	};
	int err = make_chunks(&r);

	if (!err)
		err = swap(&r);
	fini(&r);
	/* The disk may not have room for both layouts. */
	b2f_writer_delete_dead(file, B2F_DELETE_PENDING);
	return err;
}

/* The commit_lock and the write_lock are held. */
static int to_plain(struct b2f_file *file, uint64_t keep)
{
	struct b2f_writer *w = file->writer;
	uint64_t size = b2f_min_u64(keep, b2f_file_size(file));
	bool anew = size == 0 && w->options.guess_typesize;
	struct b2f_frame *frame = NULL;
	int err = b2f_layout_plain(file->frame,
				   anew ? 1 : file->frame->header.typesize,
				   b2f_writer_chunksize(w), &frame);

	if (!err)
		err = relayout(file, frame, size);
	if (!err)
		w->guess_typesize = anew;
	return err;
}

int b2f_relayout_to_plain(struct b2f_file *file, uint64_t keep)
{
	struct b2f_writer *w = file->writer;
	int err = 0;

	b2f_writer_lock(file);
	if (!w->txn)
		err = -EROFS;
	else if (file->frame->layout.is_array)
		err = to_plain(file, keep);
	if (!err) {
		/* The cut to @keep bytes may be the only change. */
		pthread_mutex_lock(&file->lock);
		b2f_writer_note(w);
		pthread_mutex_unlock(&file->lock);
	}
	b2f_writer_unlock(file);
	return err;
}

int b2f_relayout_to_zeros(struct b2f_file *file, struct b2f_frame *frame)
{
	return relayout(file, b2f_frame_ref(frame), 0);
}

/* May the frame become an array?  Metalayers say that it is something else. */
static bool may_become(const struct b2f_file *file)
{
	const struct b2f_frame *f = file->frame;

	return file->writer->options.npy_arrays && !f->layout.is_array &&
	       f->meta.n == 0;
}

/*
 * Makes the file the array that the .npy header at @head describes, if there is
 * one; @whole: the file has to be complete.  Both locks are held.
 */
static int to_array(struct b2f_file *file, const uint8_t *head, size_t size,
		    bool whole)
{
	uint64_t now = b2f_file_size(file);
	struct b2f_frame *frame = NULL;
	struct b2f_npy npy;
	int err;

	if (b2f_npy_parse(head, size, &npy))
		return 0;
	if (npy.fortran_order || (whole && npy.size + npy.nbytes != now) ||
	    (!whole && now > npy.size)) {
		b2f_npy_fini(&npy);
		return 0;
	}
	err = b2f_layout_npy(file->frame, &npy, head,
			     b2f_writer_chunksize(file->writer), &frame);
	b2f_npy_fini(&npy);
	/* The header describes no possible array: the file stays plain. */
	if (err == B2F_ETOOBIG || err == B2F_EUNSUPPORTED)
		return 0;
	return err ? err : relayout(file, frame, now);
}

/* Reads the first bytes, and tries to_array() with them. */
static int look(struct b2f_file *file, bool whole)
{
	struct b2f_writer *w = file->writer;
	B2F_OWN uint8_t *head = NULL;
	uint8_t magic[B2F_NPY_MAGIC_SIZE];
	ssize_t n = b2f_file_pread(file, NULL, magic, sizeof(magic), 0);

	if (n < 0)
		return (int)n;
	w->hint = n < (ssize_t)sizeof(magic) ||
				  memcmp(magic, B2F_NPY_MAGIC, sizeof(magic))
			  ? B2F_NPY_NO
			  : B2F_NPY_MAYBE;
	if (w->hint == B2F_NPY_NO)
		return 0;
	head = malloc(B2F_NPY_MAX_SIZE);
	if (!head)
		return -ENOMEM;
	n = b2f_file_pread(file, NULL, head, B2F_NPY_MAX_SIZE, 0);
	return n < 0 ? (int)n : to_array(file, head, (size_t)n, whole);
}

static bool begins_npy(const void *buf, uint64_t size, uint64_t off)
{
	return off == 0 && size >= B2F_NPY_MAGIC_SIZE &&
	       !memcmp(buf, B2F_NPY_MAGIC, B2F_NPY_MAGIC_SIZE);
}

/* Could the change make it a .npy file?  Asked before every change. */
static bool is_of_interest(struct b2f_file *file, const void *buf,
			   uint64_t size, uint64_t off)
{
	bool may = false;
	uint64_t now;
	B2F_HOLD(&file->lock);

	if (file->writer && file->writer->txn && may_become(file)) {
		now = b2f_file_size_locked(file);
		if (now == 0)
			may = begins_npy(buf, size, off);
		else
			may = now <= B2F_NPY_MAX_SIZE && off + size > now &&
			      file->writer->hint != B2F_NPY_NO;
	}
	return may;
}

void b2f_relayout_before(struct b2f_file *file, const void *buf, uint64_t size,
		       uint64_t off)
{
	struct b2f_writer *w;
	int err = 0;

	if (!is_of_interest(file, buf, size, off))
		return;
	w = file->writer;
	b2f_writer_lock(file);
	if (w->txn && may_become(file)) {
		if (b2f_file_size(file) > 0)
			err = look(file, false);
		else if (begins_npy(buf, size, off))
			err = to_array(file, buf, size, false);
	}
	b2f_writer_unlock(file);
	/* After an error it is plain as before, and the commit tries again. */
	(void)err;
}

/*
 * Other chunks that were encoded meanwhile may have failed because the array's
 * chunks took the room on disk.  Wait for them: the commit encodes failed ones
 * again, but would report an error that comes later.
 */
static void wait_for_encoders(struct b2f_file *file)
{
	pthread_mutex_lock(&file->lock);
	b2f_writer_wait_idle(file);
	pthread_mutex_unlock(&file->lock);
}

int b2f_relayout_for_commit(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;
	const struct b2f_layout *layout;
	uint64_t size;

	if (!w->txn || !b2f_file_is_dirty(file) || !w->options.npy_arrays)
		return 0;
	layout = &file->frame->layout;
	size = b2f_file_size(file);
	if (layout->head && size != layout->head_len + layout->nbytes)
		return to_plain(file, size);
	/* A file that cannot be read, or not be stored twice, stays plain. */
	if (may_become(file) && w->hint != B2F_NPY_NO && size > 0 &&
	    look(file, true)) {
		w->hint = B2F_NPY_NO;
		wait_for_encoders(file);
	}
	return 0;
}
