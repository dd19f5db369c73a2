/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_commit.c - commits the changes of a file to disk
 *
 * An attempt, in the words of txn/txn.h:
 *
 *   freeze   fixes the moment that is committed: all changes up to now
 *   encode   has the records of that moment encoded, while writers go on
 *   write    makes the new files durable, and replaces the index
 *   finish   that moment is the committed state, or is left to the next attempt
 *
 * If another program has changed the frame, its work is merged with ours, and
 * there is another attempt.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log_line.h"
#include "base/waiting.h"
#include "file/change.h"
#include "file/encode.h"
#include "file/reading.h"
#include "file/relayout.h"
#include "file/writer.h"
#include "programs/io.h"
#include "txn/txn_commit.h"
#include "txn/txn.h"
#include "txn/protocol.h"
#include "txn/single_commit.h"
#include "store/turn.h"

/* Attempts while other programs change the frame; for a shared store. */
#define TRIES	     5
#define TRIES_SHARED 200

/* How long a commit waits while other programs hold a lock of C-Blosc2. */
#define LOCK_WAIT_MS 3000
#define NS_PER_MS    1000000

struct attempt {
	struct b2f_file *file;
	struct b2f_writer *writer;
	struct b2f_commit commit;
	/* Records that this attempt encodes, each with a reference. */
	struct b2f_record **records;
	size_t n;
	/* The writer's changes, restored if the commit fails. */
	struct b2f_dirty dirty;
	/* Only the first chunks are committed: the disk is full. */
	bool in_part;
};

static int each(void *context, size_t n, int (*fn)(void *arg, size_t i),
		void *arg)
{
	return b2f_pool_for(context, B2F_POOL_DEMAND, n, fn, arg);
}

/* Lists the records, and makes them BUSY.  Locked. */
static int take_records(struct attempt *a)
{
	struct b2f_writer *w = a->writer;
	struct b2f_record *rec, *next;

	a->records = malloc((HASH_COUNT(w->records) + 1) * sizeof(*a->records));
	if (!a->records)
		return -ENOMEM;
	HASH_ITER(hh, w->records, rec, next)
	{
		rec->in_commit = true;
		w->ncommit++;
		if (!b2f_encode_begin(rec))
			continue;
		b2f_record_ref(rec);
		a->records[a->n++] = rec;
	}
	return 0;
}

/*
 * Fixes the moment that is committed: all changes up to now, none after.
 * *@nothing: there is nothing to do.  The write_lock is held.
 */
static int freeze(struct attempt *a, enum b2f_commit_how how, bool *nothing)
{
	struct b2f_file *file = a->file;
	struct b2f_writer *w = a->writer;
	int err = 0;
	B2F_HOLD(&file->lock);

	*nothing = !w->txn || (w->dirty.since_ns == 0 &&
			       (how != B2F_COMMIT_DURABLE ||
				a->commit.before == B2F_DISK_DURABLE));
	if (*nothing)
		return 0;
	a->commit.durable =
		how == B2F_COMMIT_DURABLE || a->commit.before != B2F_DISK_NEW;
	err = b2f_txn_freeze(w->txn, &a->commit);
	if (!err)
		err = take_records(a);
	if (err) {
		b2f_txn_finish(w->txn, &a->commit);
		return err;
	}
	w->commit = &a->commit;
	w->commit_err = 0;
	w->commit_failed = UINT64_MAX;
	a->dirty = w->dirty;
	a->commit.has_mtime = w->dirty.has_mtime;
	a->commit.mtime = w->dirty.mtime;
	w->dirty = B2F_NOT_DIRTY;
	return 0;
}

/*
 * Freezes a file that has its right layout.  A write in between might begin an
 * array, which must not be on disk before it is complete.
 */
static int relayout_and_freeze(struct attempt *a, enum b2f_commit_how how,
			     bool *nothing)
{
	struct b2f_writer *w = a->writer;
	B2F_HOLD(&w->write_lock);
	int err = b2f_relayout_for_commit(a->file);

	return err ? err : freeze(a, how, nothing);
}

static int encode_one(void *arg, size_t i)
{
	struct attempt *a = arg;

	/* The writer notes the error; the other records are still encoded. */
	(void)b2f_encode_run(a->records[i], false);
	b2f_record_unref(a->records[i]);
	return 0;
}

/*
 * On a full disk the chunks before the first one that could not be stored are
 * committed, if that only makes the file longer: a copy that did not fit leaves
 * its beginning, as on other filesystems.  Locked.
 */
static void cut_to_stored(struct attempt *a)
{
	const struct b2f_layout *layout = &a->file->frame->layout;
	struct b2f_writer *w = a->writer;

	if (!w->options.keep_beginning || layout->is_array || layout->head ||
	    a->dirty.from < w->txn->committed.nbytes)
		return;
	/* A record of a failed chunk may have been stored since. */
	a->in_part = b2f_txn_cut(w->txn, &a->commit, w->commit_failed);
}

/* Encodes the listed records, which completes the frozen state. */
static int encode(struct attempt *a)
{
	struct b2f_file *file = a->file;
	struct b2f_writer *w = a->writer;
	int prepared = 0, err;

	err = b2f_pool_for(file->runtime->pool, B2F_POOL_DEMAND, a->n,
			   encode_one, a);
	B2F_HOLD(&file->lock);
	while (w->ncommit > 0)
		pthread_cond_wait(&w->changed, &file->lock);
	w->commit = NULL;
	if (!err)
		err = w->commit_err;
	if (err == -ENOSPC || err == -EDQUOT)
		cut_to_stored(a);
	if (!err || a->in_part)
		prepared = b2f_txn_prepare(w->txn, &a->commit);
	a->in_part &= !prepared;
	return prepared ? prepared : err;
}

/* The changes stay dirty, but for a beginning that is stored.  Locked. */
static void restore(struct attempt *a)
{
	struct b2f_dirty *dirty = &a->writer->dirty, later = *dirty;

	*dirty = a->dirty;
	if (!dirty->since_ns)
		dirty->since_ns = later.since_ns;
	if (later.has_mtime) {
		dirty->has_mtime = true;
		dirty->mtime = later.mtime;
	}
	if (a->commit.installed)
		dirty->from = a->commit.state.nbytes;
	dirty->from = b2f_min_u64(dirty->from, later.from);
}

/* Ends the attempt; if it failed, the changes stay dirty. */
static void finish(struct attempt *a)
{
	struct b2f_file *file = a->file;
	struct b2f_writer *w = a->writer;

	pthread_mutex_lock(&file->lock);
	if (!a->commit.installed || a->in_part)
		restore(a);
	b2f_txn_finish(w->txn, &a->commit);
	pthread_mutex_unlock(&file->lock);
	free(a->records);
	a->records = NULL;
	a->n = 0;
}

/* @err, or -ESTALE if another program has changed the frame. */
static int or_stale(const struct b2f_writer *w, int err)
{
	return b2f_txn_has_changed(w->txn) > 0 ? -ESTALE : err;
}

/*
 * Writes the data of files that could not be made durable to new files, while
 * they can still be read, which checks them.
 */
static int rewrite_bad(struct b2f_file *file, bool all)
{
	struct b2f_writer *w = file->writer;
	uint64_t nchunk = 0;
	int err = 0;

	pthread_mutex_lock(&w->write_lock);
	for (;; nchunk++) {
		bool found;

		pthread_mutex_lock(&file->lock);
		found = w->txn && b2f_txn_find_bad(w->txn, &w->txn->working,
						   all, &nchunk);
		pthread_mutex_unlock(&file->lock);
		if (!found || err)
			break;
		err = b2f_part_rewrite_chunk(file, nchunk);
	}
	if (err)
		err = or_stale(w, err);
	pthread_mutex_unlock(&w->write_lock);
	return err;
}

static uint32_t ms_until(uint64_t until_ns)
{
	uint64_t now = b2f_monotonic_ns();

	return until_ns > now ? (uint32_t)((until_ns - now) / NS_PER_MS) : 0;
}

/* The commit_lock is held. */
static int try_commit(struct b2f_file *file, enum b2f_commit_how how,
		      uint64_t until_ns)
{
	struct attempt a = {
		.file = file,
		.writer = file->writer,
		.commit = {.each = each,
			   .each_context = file->runtime->pool,
			   .before = b2f_durability_get(
				   file->writer->durability)},
	};
	bool nothing;
	int err = rewrite_bad(file, a.commit.before == B2F_DISK_FAILED);

	if (!err)
		err = relayout_and_freeze(&a, how, &nothing);
	if (err || nothing)
		return err;
	err = encode(&a);
	a.commit.lock_wait_ms = ms_until(until_ns);
	if (!err)
		err = b2f_txn_write(a.writer->txn, &a.commit);
	else if (a.in_part)
		/* Keep the error: some chunks are not committed. */
		(void)!b2f_txn_write(a.writer->txn, &a.commit);
	if (err && !a.commit.installed)
		err = or_stale(a.writer, err);
	finish(&a);
	return err;
}

/*
 * Compares with the frame of another program: 0, -ESTALE if it changed a chunk
 * that has a record, or an errno.
 */
static int check_merge(struct b2f_writer *w, struct b2f_frame *theirs)
{
	struct b2f_txn_state state;
	struct b2f_record *rec, *next;
	int err = b2f_txn_state_like(w->txn, theirs, &state);

	if (err)
		return err;
	b2f_txn_settle(w->txn, &state);
	HASH_ITER(hh, w->records, rec, next)
		err = err ? err
			  : b2f_txn_check_untouched(w->txn, &state,
						    rec->nchunk);
	b2f_txn_state_fini(&state);
	return err;
}

/* Locked, and nothing is BUSY. */
static int merge(struct b2f_file *file, struct b2f_frame *theirs)
{
	struct b2f_writer *w = file->writer;
	struct b2f_record *rec, *next;
	int err = check_merge(w, theirs);

	if (!err)
		err = b2f_txn_merge(w->txn, theirs);
	if (err)
		return err;
	HASH_ITER(hh, w->records, rec, next)
	if (rec->nchunk < w->txn->working.n)
		rec->base_raw = b2f_txn_raw(&w->txn->working, rec->nchunk);
	b2f_file_set_frame(file, b2f_frame_ref(theirs));
	/*
	 * The next index is ours: only this flag still shows that they changed
	 * the frame.
	 */
	file->has_foreign = true;
	return 0;
}

/*
 * Merges our changes with a frame that another program changed.  @is_locked:
 * other programs are locked out.
 */
static int merge_theirs(struct b2f_file *file, bool is_locked)
{
	struct b2f_writer *w = file->writer;
	struct b2f_frame *theirs = NULL;
	int err;

	pthread_mutex_lock(&w->write_lock);
	err = b2f_frame_reopen(file->frame,
			       is_locked ? B2F_TURN_OURS : 0, &theirs);
	if (!err) {
		pthread_mutex_lock(&file->lock);
		b2f_writer_wait_idle(file);
		err = merge(file, theirs);
		pthread_mutex_unlock(&file->lock);
	}
	pthread_mutex_unlock(&w->write_lock);
	if (!err)
		b2f_head_forget_all(file);
	/* That the frame is gone is logged already. */
	if (err == -ESTALE && theirs)
		b2f_log(file->frame->log, B2F_LOG_ERROR,
			"%s: not committed: another program has changed the "
			"same chunks, or the size, since they were read",
			file->frame->label);
	b2f_frame_close(theirs);
	return err;
}

/* Logs once, however often the commit is tried. */
static void tell_locked(struct b2f_file *file, bool is_locked)
{
	struct b2f_writer *w = file->writer;

	if (is_locked && !w->told_locked)
		b2f_log(file->frame->log, B2F_LOG_WARNING,
			"%s: not committed yet: another program holds .b2lock "
			"(it will be tried again)",
			file->frame->label);
	w->told_locked = is_locked;
}

/* Tries again as long as other programs keep changing the frame. */
static int commit_until(struct b2f_file *file, enum b2f_commit_how how,
			uint64_t until_ns)
{
	struct b2f_writer *w = file->writer;
	bool is_locked = false;
	unsigned int tries = TRIES;
	int err = -EBUSY;

	for (unsigned int i = 0; i < tries; i++) {
		err = try_commit(file, how, until_ns);
		/* A record was being encoded for a request cancelled since. */
		if (err == -EINTR && !b2f_patience_is_over())
			continue;
		if (err != -ESTALE && err != -EEXIST)
			break;
		/*
		 * Lock other programs out for the next attempt.  The
		 * transaction stays while this thread has the commit_lock.
		 */
		if (w->txn->protocol->is_shared)
			tries = TRIES_SHARED;
		if (!is_locked)
			is_locked = !b2f_txn_lock_out(
				w->txn, ms_until(until_ns), NULL);
		/* After -EEXIST the next attempt takes another name. */
		if (err == -ESTALE) {
			b2f_txn_give_way(w->txn, i);
			err = merge_theirs(file, is_locked);
			if (err)
				break;
		}
		/* No conflict: a later commit may succeed. */
		err = -EBUSY;
	}
	if (is_locked)
		b2f_txn_let_in(w->txn);
	return err;
}

/* The commit_lock is held. */
static int commit_locked(struct b2f_file *file, enum b2f_commit_how how,
			 uint64_t until_ns)
{
	/* A program may be replacing the array. */
	int err = file->writer->anew == B2F_ANEW_BEGUN
			  ? -EBUSY
			  : b2f_writer_drop_half(file);

	if (!err)
		err = commit_until(file, how, until_ns);
	tell_locked(file, err == -EAGAIN);
	b2f_writer_delete_dead(file, B2F_DELETE_DUE);
	return err;
}

int b2f_commit_now(struct b2f_file *file, enum b2f_commit_how how)
{
	return commit_locked(file, how, 0);
}

/* Takes the commit_lock; -EAGAIN without @waits, if another thread has it. */
static int begin(struct b2f_file *file, bool waits)
{
	if (waits)
		pthread_mutex_lock(&file->commit_lock);
	else if (pthread_mutex_trylock(&file->commit_lock))
		return -EAGAIN;
	return 0;
}

static int commit(struct b2f_file *file, enum b2f_commit_how how, bool waits)
{
	/* The time in the queue for the commit_lock counts, too. */
	uint64_t until_ns =
		waits ? b2f_monotonic_ns() + (uint64_t)LOCK_WAIT_MS * NS_PER_MS
		      : 0;
	int err;

	if (!file->writer)
		return 0;
	err = begin(file, waits);
	if (err)
		return err;
	err = commit_locked(file, how, until_ns);
	pthread_mutex_unlock(&file->commit_lock);
	return err;
}

int b2f_file_commit(struct b2f_file *file, enum b2f_commit_how how)
{
	return commit(file, how, true);
}

/* The commit_lock and the write_lock are held, so this stays. */
static bool is_all_committed(struct b2f_file *file)
{
	const struct b2f_writer *w = file->writer;
	B2F_HOLD(&file->lock);

	return w->txn && !w->closing && !w->anew && w->nbusy == 0 &&
	       b2f_writer_is_clean(w);
}

/* The commit_lock and the write_lock are held. */
static bool may_tidy(struct b2f_file *file, bool late)
{
	const struct b2f_txn *txn = file->writer->txn;

	return is_all_committed(file) && !txn->header.sparse &&
	       (!late || b2f_txn_single_may_end(txn));
}

static void wait_readers(void *arg)
{
	b2f_writer_end_readers(arg);
}

void b2f_file_tidy(struct b2f_file *file, bool last, bool late)
{
	const struct b2f_txn_readers readers = {
		.wait = wait_readers, .arg = file};
	struct b2f_writer *w = file->writer;

	if (!w)
		return;
	b2f_writer_lock(file);
	if (may_tidy(file, late)) {
		if (last)
			b2f_writer_delete_dead(file, B2F_DELETE_ALL);
		b2f_writer_stop_encoding(file);
		b2f_txn_single_cut(w->txn, last ? &readers : NULL);
		b2f_writer_let_encode(file);
	}
	b2f_writer_unlock(file);
}

int b2f_file_try_commit(struct b2f_file *file, enum b2f_commit_how how)
{
	return commit(file, how, false);
}

int b2f_file_sync_stored(struct b2f_file *file, struct b2f_durability *d,
			 bool waits, int (*sync)(int fd), int fd)
{
	int err = begin(file, waits);

	if (err)
		return err;
	err = b2f_file_is_writable(file) ? 1 : b2f_durability_sync(d, sync, fd);
	pthread_mutex_unlock(&file->commit_lock);
	return err;
}
