/* SPDX-License-Identifier: BSD-3-Clause */
/* file_allow.c - makes a file writable */
#include "file/reading.h"
#include "file/writer.h"
#include "frame/frame_report.h"
#include "store/turn.h"

/* How often another program may change a frame while it is being opened. */
#define TRIES 5

/* An empty frame may still choose how its chunks are made. */
static void choose_settings(struct b2f_writer *w, struct b2f_txn *txn)
{
	struct b2f_frame_header *h = &txn->header;
	uint32_t size = b2f_writer_chunksize(w);

	w->guess_typesize = w->options.guess_typesize && h->nbytes == 0 &&
			    h->typesize == 1 && txn->frame->meta.n == 0;
	if (h->chunksize > 0 || txn->frame->layout.is_array)
		return;
	if (size > h->typesize)
		size -= size % h->typesize;
	if (txn->committed.starts)
		txn->sizes.step = size;
	else
		h->chunksize = (int32_t)size;
}

/* Locks of other programs, if they use them or it was asked for. */
static enum b2f_txn_locking locking_of(const struct b2f_writer *w)
{
	if (w->options.no_locking)
		return B2F_TXN_LOCKING_NEVER;
	if (w->options.locking)
		return B2F_TXN_LOCKING_ALWAYS;
	return w->options.no_lock_file ? B2F_TXN_LOCKING_NEVER
				       : B2F_TXN_LOCKING_IF_THERE;
}

int b2f_writer_open_txn(struct b2f_writer *w, struct b2f_frame **frame,
			struct b2f_txn **out)
{
	struct b2f_txn *txn = NULL;
	struct b2f_frame *newer;
	int err = -ESTALE, i;

	for (i = 0; i < TRIES; i++) {
		err = b2f_txn_new(*frame, B2F_USE_FILE, locking_of(w),
				   w->durability, &txn);
		w->options.no_lock_file = false;
		if (err != -ESTALE)
			break;
		err = b2f_frame_reopen(*frame, B2F_TURN_WAIT_MS,
				       &newer);
		if (err)
			break;
		b2f_frame_close(*frame);
		*frame = newer;
		err = -ESTALE;
	}
	/* That the frame is gone is logged already. */
	if (i == TRIES)
		b2f_frame_report_stale(*frame);
	if (err) {
		b2f_frame_close(*frame);
		return err;
	}
	txn->guard.ends_late = w->options.ends_late;
	choose_settings(w, txn);
	*out = txn;
	return 0;
}

/* Makes the file writable with @frame and @txn, which it takes over. */
static void begin(struct b2f_file *file, struct b2f_writer *w,
		  struct b2f_frame *frame, struct b2f_txn *txn)
{
	pthread_mutex_lock(&file->lock);
	b2f_file_set_frame(file, frame);
	w->txn = txn;
	atomic_store(&w->is_lost, false);
	txn->guard.owner = &file->lock;
	/* A commit is to mend a blank frame even if nothing is written. */
	if (frame->blank)
		b2f_writer_note(w);
	w->dirty.has_mtime = false;
	w->dirty.from = UINT64_MAX;
	w->array_nbytes = b2f_frame_shown_nbytes(frame);
	w->hint = B2F_NPY_UNKNOWN;
	file->writer = w;
	pthread_mutex_unlock(&file->lock);
	b2f_head_forget_all(file);
}

int b2f_writer_allow(struct b2f_file *file, struct b2f_writer *w)
{
	struct b2f_txn *txn = NULL;
	struct b2f_frame *frame;
	int err;

	/* The transaction will need room for the holes. */
	frame = b2f_file_frame_ref(file);
	err = b2f_holes_open(file->runtime, w, frame);
	b2f_frame_close(frame);
	if (err)
		return err;
	frame = b2f_file_frame_ref(file);
	err = b2f_writer_open_txn(w, &frame, &txn);
	if (err)
		b2f_holes_close(w);
	else
		begin(file, w, frame, txn);
	return err;
}

static int allow(struct b2f_file *file, const struct b2f_write_options *options)
{
	struct b2f_writer *w;
	int err = 0;

	/* Do not wait for a commit under way. */
	if (!b2f_writer_has_half(file->writer) && b2f_file_is_writable(file))
		return 0;
	pthread_mutex_lock(&file->commit_lock);
	err = b2f_writer_drop_half(file);
	if (err || b2f_file_is_writable(file))
		goto out;
	w = file->writer;
	if (!w)
		w = b2f_writer_new(options, b2f_file_size(file) == 0);
	err = w ? b2f_writer_allow(file, w) : -ENOMEM;
	if (err && w != file->writer)
		b2f_writer_free(w);
out:
	pthread_mutex_unlock(&file->commit_lock);
	return err;
}

int b2f_file_allow_write(struct b2f_file *file,
			 const struct b2f_write_options *options)
{
	int err = allow(file, options);

	if (!err)
		atomic_store(&file->stays, false);
	return err;
}

int b2f_writer_allow_again(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;
	int err = 0;

	if (!atomic_load(&w->is_lost))
		return 0;
	pthread_mutex_lock(&file->commit_lock);
	if (atomic_load(&w->is_lost))
		err = b2f_writer_allow(file, w);
	pthread_mutex_unlock(&file->commit_lock);
	return b2f_is_format_error(err) ? -EROFS : err;
}

bool b2f_file_is_writable(struct b2f_file *file)
{
	B2F_HOLD(&file->lock);

	return file->writer && file->writer->txn;
}
