/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_form.c - turns a new file into a directory before data are stored
 *
 * The file has only a size and records in memory then, and records know their
 * chunks by number.  A transaction of the empty directory replaces that of the
 * empty file; the records stay.
 */
#include "programs/file_form.h"

#include <stdlib.h>

#include "array/npy.h"
#include "base/checked.h"
#include "base/log_line.h"
#include "file/reading.h"
#include "file/writer.h"
#include "frame/settings.h"
#include "store/become.h"

/*
 * With a longer .npy header the frame's header may need more than a single
 * write: such an array begins as a directory.  The same holds for an empty
 * array with a longer trailer, which is a part of that write.
 */
#define NPY_HEADER_MAX 256
#define NPY_EMPTY_MAX  128
#define NPY_NDIM_MAX   8

static bool is_long(const struct b2f_npy *npy)
{
	if (npy->nbytes == 0)
		return npy->size > NPY_EMPTY_MAX || npy->ndim > NPY_NDIM_MAX;
	return npy->size > NPY_HEADER_MAX;
}

/* The final size of the file, as far as this write tells. */
static uint64_t end_after(const void *buf, uint64_t size, uint64_t off)
{
	struct b2f_npy npy;
	uint64_t end = off + size;

	if (!buf || off || size > SIZE_MAX || b2f_npy_parse(buf, size, &npy))
		return end;
	end = is_long(&npy) ? UINT64_MAX
			    : b2f_max_u64(end, npy.size + npy.nbytes);
	b2f_npy_fini(&npy);
	return end;
}

/* Is nothing stored yet, so that the form can still change?  Locked. */
static bool is_open(const struct b2f_file *file)
{
	const struct b2f_writer *w = file->writer;
	const struct b2f_txn *txn = w ? w->txn : NULL;

	return txn && atomic_load(&txn->home->undecided) && !txn->fresh.files &&
	       !txn->garbage.committing && !file->frame->layout.is_array &&
	       b2f_durability_get(w->durability) != B2F_DISK_FAILED;
}

bool b2f_file_outgrows(struct b2f_file *file, const void *buf, uint64_t size,
		       uint64_t off, uint64_t limit)
{
	uint64_t now = 0, end;
	bool may;

	pthread_mutex_lock(&file->lock);
	may = is_open(file);
	if (may)
		now = b2f_file_size_locked(file);
	pthread_mutex_unlock(&file->lock);
	if (!may)
		return false;
	end = now ? off + size : end_after(buf, size, off);
	return b2f_max_u64(now, end) > limit;
}

/* Makes the hidden directory, and opens it as a frame. */
static int make(struct b2f_file *file, struct b2f_become *become,
		struct b2f_frame **out, struct b2f_why *why)
{
	const struct b2f_settings settings = b2f_settings_of(file->frame);
	const struct b2f_frame *from = file->frame;
	const struct b2f_frame_options options = b2f_frame_options_of(from);
	struct b2f_store_plan plan = {.mode = 0};
	struct b2f_store *store = NULL;
	B2F_OWN uint8_t *index = NULL;
	int err = b2f_settings_index(&settings, false, &index, &plan.size, why);

	if (err)
		return err;
	plan.index = index;
	err = b2f_become_begin(become, file->writer->txn->store, &plan, &store,
			       why);
	if (err)
		return err;
	err = b2f_frame_open_store(&options, store, from->label, out);
	if (err)
		b2f_become_undo(become);
	return err;
}

/* A transaction of @frame, which it takes over, with the size of @file. */
static int begin(struct b2f_file *file, struct b2f_frame **frame,
		 struct b2f_txn **out)
{
	const struct b2f_txn_state *state = &file->writer->txn->working;
	struct b2f_txn *txn = NULL;
	int err = b2f_writer_open_txn(file->writer, frame, &txn);

	if (err) {
		*frame = NULL;
		return err;
	}
	err = b2f_txn_resize(txn, state->n, state->nbytes, 0);
	if (err)
		b2f_txn_free(txn);
	else
		*out = txn;
	return err;
}

/* Exchanges the names, unless another program has just written to the file. */
static int exchange(struct b2f_writer *w, struct b2f_become *become,
		    struct b2f_why *why)
{
	int err = b2f_become_exchange(become, why);

	if (err || b2f_txn_has_changed(w->txn) == 0)
		return err;
	err = b2f_become_exchange_back(become, why);
	return err ? err
		   : b2f_why_set(why, -ESTALE, "another program has changed it");
}

/* Continues the file with @frame and @txn, which it takes over. */
static void continue_with(struct b2f_file *file, struct b2f_frame *frame,
			  struct b2f_txn *txn)
{
	struct b2f_writer *w = file->writer;
	struct b2f_txn *old;

	pthread_mutex_lock(&file->lock);
	old = w->txn;
	w->txn = txn;
	txn->guard.owner = &file->lock;
	b2f_file_set_frame(file, frame);
	pthread_mutex_unlock(&file->lock);
	/* A loss of power leaves an empty file for now. */
	(void)b2f_durability_move(w->durability, B2F_DISK_DURABLE, B2F_DISK_NEW);
	(void)b2f_durability_move(w->durability, B2F_DISK_UNSYNCED, B2F_DISK_NEW);
	b2f_writer_end_readers(file);
	b2f_txn_free(old);
}

/* The locks are held, and no record is encoded. */
static int become_sparse(struct b2f_file *file, const struct b2f_form *form,
			 struct b2f_why *why)
{
	struct b2f_become become = {.dirfd = form->dirfd, .name = form->name};
	struct b2f_frame *frame = NULL;
	struct b2f_txn *txn = NULL;
	int err = make(file, &become, &frame, why), fd;

	if (err)
		return err;
	fd = b2f_store_dirfd(frame->store);
	err = begin(file, &frame, &txn);
	if (!err)
		err = exchange(file->writer, &become, why);
	if (err) {
		if (become.is_astray)
			b2f_log(file->frame->log, B2F_LOG_ERROR, "%s: %s",
				file->frame->label, why->text);
		b2f_txn_free(txn);
		b2f_frame_close(frame);
		b2f_become_undo(&become);
		return err;
	}
	continue_with(file, frame, txn);
	form->done(form->arg, fd, become.dir.st_ino);
	/* Do this last: a file without a name would seem deleted. */
	b2f_become_end(&become);
	return 0;
}

static bool is_open_now(struct b2f_file *file)
{
	B2F_HOLD(&file->lock);

	return is_open(file);
}

int b2f_file_become_sparse(struct b2f_file *file, const struct b2f_form *form)
{
	struct b2f_writer *w = file->writer;
	struct b2f_why why = {""};
	int err = -EBUSY;

	if (!w)
		return -EBADF;
	b2f_writer_lock(file);
	b2f_writer_stop_encoding(file);
	if (is_open_now(file)) {
		err = become_sparse(file, form, &why);
		if (err) {
			atomic_store(&w->txn->home->undecided, false);
			b2f_log(file->frame->log, B2F_LOG_DEBUG,
				"%s: stays one file: %s", file->frame->label,
				b2f_why_text(&why, err));
		}
	}
	b2f_writer_let_encode(file);
	b2f_writer_unlock(file);
	return err;
}
