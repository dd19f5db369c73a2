/* SPDX-License-Identifier: BSD-3-Clause */
/* file_refresh.c - notices changes of the index by other programs */
#include <time.h>

#include "b2frame/error.h"
#include "base/log_line.h"
#include "file/reading.h"
#include "file/writer.h"
#include "frame/frame_report.h"
#include "frame/frame_still.h"
#include "txn/txn_commit.h"
#include "store/turn.h"

/* Attempts of a reader while the frame changes under it. */
#define TRIES 3

/* How long a reader waits for commits, which are going to merge the change. */
#define COMMIT_MS 3000

struct b2f_frame_stamp b2f_file_known_stamp(const struct b2f_file *file)
{
	const struct b2f_writer *w = file->writer;

	return w && w->txn ? b2f_txn_stamp(w->txn) : file->frame->stamp;
}

/*
 * The transaction of a contiguous frame, which each new chunk changes, or NULL.
 * While the caller has the commit_lock it stays.
 */
static struct b2f_txn *edit_of_single(struct b2f_file *file)
{
	B2F_HOLD(&file->lock);
	struct b2f_txn *txn = file->writer ? file->writer->txn : NULL;

	return txn && !txn->header.sparse ? txn : NULL;
}

/* Does the index on disk differ from the known one? 1, 0 or an errno. */
static int has_changed(struct b2f_file *file)
{
	struct b2f_txn *txn = edit_of_single(file);
	struct b2f_frame_stamp known;
	struct b2f_frame *frame;
	int ret;

	frame = b2f_file_frame_ref(file);
	pthread_mutex_lock(&file->lock);
	known = b2f_file_known_stamp(file);
	pthread_mutex_unlock(&file->lock);
	ret = txn ? b2f_txn_has_changed(txn)
		  : b2f_frame_has_changed(frame, &known);
	b2f_frame_close(frame);
	return ret;
}

/*
 * Like has_changed(), and also 1 if another program has had the lock since:
 * readers cannot rely on the opened version then, even if it is the same.
 */
static int must_reopen(struct b2f_file *file)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file);
	int ret = has_changed(file);

	if (ret == 0)
		ret = b2f_turn_check(frame->store) == -ESTALE;
	b2f_frame_close(frame);
	return ret;
}

/* Forgets uncommitted changes.  Locked, and nothing is BUSY. */
static void forget_changes(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;

	b2f_record_remove_from(w, 0);
	w->dirty = B2F_NOT_DIRTY;
	w->anew = B2F_ANEW_NOT;
	file->ndropped++;
}

int b2f_file_continue_with(struct b2f_file *file, struct b2f_writer *w,
			   struct b2f_frame *newer, bool revert)
{
	struct b2f_txn *old = NULL;
	int err = 0;

	pthread_mutex_lock(&file->lock);
	/* A writer made meanwhile began with the version on disk. */
	if (file->writer != w || (w && !revert && !b2f_writer_is_clean(w)))
		err = -EBUSY;
	else if (w)
		old = b2f_writer_take_txn(file);
	/*
	 * In one step: no reader sees the old frame without its transaction,
	 * nor that without its records.
	 */
	if (old && revert)
		forget_changes(file);
	if (!err) {
		b2f_file_set_frame(file, newer);
		file->has_foreign = true;
	}
	pthread_mutex_unlock(&file->lock);
	if (err) {
		b2f_frame_close(newer);
		return err;
	}
	b2f_head_forget_all(file);
	if (!old)
		return 0;
	/* They may use chunks that were never committed. */
	if (revert)
		b2f_writer_end_readers(file);
	b2f_txn_free(old);
	/* If this fails, the file can still be read; the next write retries. */
	err = b2f_writer_allow(file, w);
	atomic_store(&w->is_lost, err && err != -EROFS);
	return 0;
}

/* Opens the version on disk, if it can be shown. */
static int open_newer(struct b2f_file *file, uint32_t wait_ms,
		      struct b2f_frame **out)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file), *newer = NULL;
	int err = b2f_frame_reopen(frame, wait_ms, &newer);

	b2f_frame_close(frame);
	/* The chunks do not fit the array; the cause is logged. */
	if (!err)
		err = newer->layout.err;
	if (err)
		b2f_frame_close(newer);
	else
		*out = newer;
	return err;
}

/* Continues with the version on disk, or as before if it cannot be opened. */
static int reopen(struct b2f_file *file, struct b2f_writer *w,
		  uint32_t wait_ms, bool revert)
{
	struct b2f_frame *newer = NULL;
	int err = open_newer(file, wait_ms, &newer);

	if (err)
		return err;
	err = b2f_file_continue_with(file, w, newer, revert);
	return err == -EBUSY ? 0 : err;
}

/* The commit_lock is held. */
static int refresh(struct b2f_file *file, uint32_t wait_ms, bool revert)
{
	struct b2f_writer *w = file->writer;
	int err;

	if (w)
		pthread_mutex_lock(&w->write_lock);
	err = revert ? 1 : must_reopen(file);
	if (err > 0)
		err = reopen(file, w, wait_ms, revert);
	if (w)
		pthread_mutex_unlock(&w->write_lock);
	return err;
}

/*
 * Takes the transaction of a clean writer away; readers go on with @newer.
 * @is_theirs: another program may have made that version.
 */
static struct b2f_txn *leave(struct b2f_file *file, struct b2f_writer *w,
			     struct b2f_frame *newer, bool is_theirs)
{
	struct b2f_txn *old = NULL;

	pthread_mutex_lock(&file->lock);
	if (b2f_writer_is_clean(w) && !w->anew)
		old = b2f_writer_take_txn(file);
	if (old) {
		b2f_file_set_frame(file, newer);
		file->has_foreign |= is_theirs;
	}
	pthread_mutex_unlock(&file->lock);
	if (!old)
		b2f_frame_close(newer);
	return old;
}

/*
 * The end of the transaction may write to a contiguous frame, after which the
 * frame has another version of the same data.  Both locks are held.
 */
static int end_write(struct b2f_file *file, struct b2f_writer *w)
{
	struct b2f_frame *newer = NULL;
	struct b2f_txn *old;
	int err;

	if (!b2f_file_is_writable(file))
		return 0;
	err = open_newer(file, 0, &newer);
	if (err)
		return err;
	/* Look while the transaction knows our version. */
	old = leave(file, w, newer, must_reopen(file) != 0);
	if (!old)
		return -EBUSY;
	b2f_writer_end_readers(file);
	b2f_txn_free(old);
	/* If this fails, the next look at the frame does it. */
	if (must_reopen(file) > 0)
		(void)!reopen(file, w, 0, false);
	return 0;
}

int b2f_file_end_write(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;
	int err;

	if (!w)
		return 0;
	if (pthread_mutex_trylock(&file->commit_lock))
		return -EBUSY;
	pthread_mutex_lock(&w->write_lock);
	err = end_write(file, w);
	pthread_mutex_unlock(&w->write_lock);
	pthread_mutex_unlock(&file->commit_lock);
	return err;
}

bool b2f_file_take_foreign(struct b2f_file *file)
{
	B2F_HOLD(&file->lock);
	bool has = file->has_foreign;

	file->has_foreign = false;
	return has;
}

bool b2f_file_has_foreign(struct b2f_file *file)
{
	B2F_HOLD(&file->lock);

	return file->has_foreign;
}

bool b2f_file_is_outdated(struct b2f_file *file)
{
	B2F_HOLD(&file->commit_lock);

	return has_changed(file) > 0;
}

int b2f_file_refresh(struct b2f_file *file, uint32_t wait_ms, bool *changed)
{
	int err;

	pthread_mutex_lock(&file->commit_lock);
	err = refresh(file, wait_ms, false);
	pthread_mutex_unlock(&file->commit_lock);
	*changed = b2f_file_take_foreign(file);
	return err;
}

/* Goes back to the last commit: no version on disk can be opened. */
static int drop_changes(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;
	int err = 0;

	pthread_mutex_lock(&w->write_lock);
	pthread_mutex_lock(&file->lock);
	b2f_writer_wait_idle(file);
	if (w->txn)
		err = b2f_txn_revert(w->txn);
	if (w->txn && !err) {
		forget_changes(file);
		b2f_file_set_frame(file, b2f_frame_ref(w->txn->frame));
		w->array_nbytes = b2f_frame_shown_nbytes(file->frame);
		w->hint = B2F_NPY_UNKNOWN;
		w->guess_typesize = false;
	}
	file->has_foreign |= !err;
	pthread_mutex_unlock(&file->lock);
	pthread_mutex_unlock(&w->write_lock);
	b2f_head_forget_all(file);
	return err;
}

/* Half an array that cannot be dropped now is no longer read. */
static void keep_half(struct b2f_file *file, int err)
{
	struct b2f_writer *w = file->writer;
	bool tells;

	pthread_mutex_lock(&file->lock);
	tells = w->anew == B2F_ANEW_BEGUN;
	if (tells)
		w->anew = B2F_ANEW_HALF;
	pthread_mutex_unlock(&file->lock);
	if (tells)
		b2f_log(file->frame->log, B2F_LOG_ERROR,
			"%s: half an array was written, and the stored one "
			"cannot be opened yet: %s",
			file->frame->label, b2f_strerror(err));
}

/* The commit_lock is held. */
static int revert(struct b2f_file *file, uint32_t wait_ms)
{
	/* Another frame may have the name of a file that stays. */
	bool stays = atomic_load(&file->stays) && file->writer->anew;
	int err = stays ? -ENOENT : refresh(file, wait_ms, true);

	if (!stays && err == -ESTALE)
		err = drop_changes(file);
	if (err)
		keep_half(file, err);
	return err;
}

int b2f_writer_drop_half(struct b2f_file *file)
{
	return b2f_writer_has_half(file->writer) && revert(file, 0) ? -EIO : 0;
}

int b2f_file_revert(struct b2f_file *file)
{
	if (!file->writer)
		return 0;
	B2F_HOLD(&file->commit_lock);
	return revert(file, B2F_TURN_WAIT_MS);
}

void b2f_file_stay(struct b2f_file *file)
{
	atomic_store(&file->stays, true);
}

/*
 * Takes the commit_lock.  Readers queue for one refresh; but a commit merges
 * changes itself, and may need this thread, which waits no longer than
 * *@left_ms.
 */
static bool take_lock(struct b2f_file *file, uint32_t *left_ms)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (!file->writer)
		return pthread_mutex_lock(&file->commit_lock) == 0;
	while (pthread_mutex_trylock(&file->commit_lock)) {
		if (*left_ms == 0)
			return false;
		--*left_ms;
		nanosleep(&pause, NULL);
	}
	return true;
}

static void catch_up(struct b2f_file *file, uint32_t *left_ms)
{
	int err;

	if (!take_lock(file, left_ms))
		return;
	/* If this fails, so does the caller's next step, which tells why. */
	err = refresh(file, B2F_TURN_WAIT_MS, false);
	(void)err;
	pthread_mutex_unlock(&file->commit_lock);
}

void b2f_file_catch_up(struct b2f_file *file)
{
	uint32_t none = 0;

	catch_up(file, &none);
}

/* Has the file gone on to another version of the frame? */
static bool is_old(const struct b2f_reading *r)
{
	struct b2f_file *file = r->file;
	B2F_HOLD(&file->lock);

	return file->version != r->version || file->writer != r->writer;
}

/*
 * After a reader failed with @n because the frame changed: takes the lock of
 * C-Blosc2, so that a program that writes faster than the reader reads has to
 * wait.  Returns 0, @n if the store has no lock, or an errno: -EAGAIN if that
 * program keeps the lock.
 */
static int64_t lock_out(struct b2f_file *file, int64_t n,
			struct b2f_lock **turn)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file);
	struct b2f_why why = {""};
	int64_t err = 0;

	if (!b2f_lock_has_place(frame->store))
		err = n;
	else if (!*turn && !frame->how.no_locking)
		err = b2f_turn_share(frame->store, B2F_TURN_WAIT_MS, turn,
				     &why);
	if (err == -EAGAIN)
		b2f_frame_report(frame, -EAGAIN, &why);
	b2f_frame_close(frame);
	return err;
}

/* Logs why all attempts have ended with -ESTALE. */
static void tell_stale(struct b2f_file *file)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file);
	struct b2f_frame_stamp now;
	struct b2f_why why;
	bool is_gone = b2f_store_stamp_index(frame->store, &now) == -ENOENT;

	b2f_why_set(&why, -ESTALE, "%s",
		    is_gone ? "another program has deleted or replaced the frame"
		    : file->stays ? "another program has changed it meanwhile"
				  : "another program keeps changing it");
	b2f_frame_report(frame, -ESTALE, &why);
	b2f_frame_close(frame);
}

int64_t b2f_file_retry(struct b2f_file *file, b2f_reading_fn *fn, void *arg)
{
	struct b2f_lock *turn = NULL;
	struct b2f_reading r;
	uint32_t left_ms = COMMIT_MS, none = 0;
	int64_t n = 0, again;
	bool waits;

	for (int i = 0; i < TRIES; i++) {
		b2f_reading_begin(file, &r);
		n = r.is_half ? -EIO : fn(arg, &r);
		b2f_reading_end(&r);
		if (n >= 0 || r.is_half)
			break;
		/*
		 * Report the error, unless the file was moved during the read.
		 */
		if (atomic_load(&file->stays) && !is_old(&r)) {
			n = has_changed(file) > 0 ? -ESTALE : n;
			break;
		}
		again = n == -ESTALE ? lock_out(file, n, &turn) : n;
		if (again == -EAGAIN) {
			n = again;
			break;
		}
		/* A commit may wait for a reader with that lock. */
		waits = !turn && (n == -ESTALE || n == B2F_ECORRUPT);
		if (!is_old(&r) && n != -ENOMEM)
			catch_up(file, waits ? &left_ms : &none);
		if (!is_old(&r) && again)
			break;
	}
	b2f_lock_close(turn);
	if (n == -ESTALE)
		tell_stale(file);
	return n;
}

/* Keeps our change of attributes from looking foreign.  Locked. */
static void know_index(struct b2f_file *file, const struct timespec *mtime)
{
	struct b2f_txn *txn = file->writer ? file->writer->txn : NULL;
	struct b2f_frame_stamp known = b2f_file_known_stamp(file), now;

	if (txn && !txn->header.sparse) {
		b2f_store_note_attributes(txn->store, mtime);
		return;
	}
	if (b2f_store_stamp_index(file->frame->store, &now) ||
	    !b2f_frame_stamp_same_data(&known, &now, mtime != NULL))
		return;
	if (txn)
		txn->stamp = now;
	else
		file->frame->stamp = now;
}

int b2f_file_with_index(struct b2f_file *file, const struct timespec *mtime,
			int (*fn)(void *arg, int dirfd), void *arg)
{
	struct b2f_frame *frame;
	int err, changed;

	pthread_mutex_lock(&file->commit_lock);
	frame = b2f_file_frame_ref(file);
	/* Look first: after our change, a foreign one can no longer be told. */
	changed = has_changed(file);
	/*
	 * Every version of the frame is in the same directory; a small frame
	 * has none until it grows.
	 */
	err = fn(arg, b2f_store_dirfd(frame->store));
	if (err)
		mtime = NULL;
	pthread_mutex_lock(&file->lock);
	if (changed == 0)
		know_index(file, mtime);
	if (file->writer && mtime)
		file->writer->dirty.has_mtime = false;
	pthread_mutex_unlock(&file->lock);
	pthread_mutex_unlock(&file->commit_lock);
	b2f_frame_close(frame);
	return err;
}
