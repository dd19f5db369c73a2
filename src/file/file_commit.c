/* SPDX-License-Identifier: BSD-3-Clause */
/* file_commit.c - what was written becomes the frame on disk */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log_line.h"
#include "file/change.h"
#include "file/encode.h"
#include "file/reading.h"
#include "file/reform.h"
#include "file/writer.h"

#define NS_PER_S UINT64_C(1000000000)

/* Commits that are tried while other programs change the frame. */
#define TRIES 5

/* How long a commit waits for a lock of C-Blosc2 that others have. */
#define LOCK_WAIT_MS 3000
#define NS_PER_MS    1000000

/* One commit, from its begin to its end. */
struct job {
	struct b2f_file *file;
	struct b2f_writer *writer;
	struct b2f_commit commit;
	/* Records that this commit encodes; each with a reference. */
	struct b2f_record **records;
	size_t n;
	/* What they were before, in case it fails. */
	uint64_t dirty_since_ns;
	bool has_mtime;
	/* Only the first chunks are committed: there is no room for more. */
	bool in_part;
};

static int each(void *context, size_t n, int (*fn)(void *arg, size_t i),
		void *arg)
{
	return b2f_pool_for(context, B2F_POOL_DEMAND, n, fn, arg);
}

/* Lists the records, and begins with those that nobody encodes yet.  Locked. */
static int take_records(struct job *job)
{
	struct b2f_writer *w = job->writer;
	struct b2f_record *d, *next;

	job->records =
		malloc((HASH_COUNT(w->records) + 1) * sizeof(*job->records));
	if (!job->records)
		return -ENOMEM;
	HASH_ITER(hh, w->records, d, next)
	{
		d->in_commit = true;
		w->ncommit++;
		if (!b2f_encode_begin(d))
			continue;
		b2f_record_ref(d);
		job->records[job->n++] = d;
	}
	return 0;
}

/*
 * Fixes the moment that is committed: all changes up to now, none after.
 * *@nothing: there is nothing to do.  The write_lock is held.
 */
static int freeze(struct job *job, enum b2f_commit_how how, bool *nothing)
{
	struct b2f_file *file = job->file;
	struct b2f_writer *w = job->writer;
	int err = 0;

	pthread_mutex_lock(&file->lock);
	*nothing = !w->edit || (w->dirty_since_ns == 0 &&
				(how != B2F_COMMIT_DURABLE ||
				 job->commit.before == B2F_DISK_DURABLE));
	if (*nothing)
		goto out;
	job->commit.durable =
		how == B2F_COMMIT_DURABLE || job->commit.before != B2F_DISK_NEW;
	err = b2f_edit_freeze(w->edit, &job->commit);
	if (!err)
		err = take_records(job);
	if (err) {
		b2f_edit_settle(w->edit, &job->commit);
		goto out;
	}
	w->commit = &job->commit;
	w->commit_err = 0;
	w->commit_failed = UINT64_MAX;
	job->dirty_since_ns = w->dirty_since_ns;
	job->has_mtime = job->commit.has_mtime = w->has_mtime;
	job->commit.mtime = w->mtime;
	w->dirty_since_ns = 0;
	w->has_mtime = false;
out:
	pthread_mutex_unlock(&file->lock);
	return err;
}

/*
 * With its form settled.  A write in between might begin an array, which is
 * not to be on disk before it is complete.
 */
static int settle_and_freeze(struct job *job, enum b2f_commit_how how,
			     bool *nothing)
{
	struct b2f_writer *w = job->writer;
	int err;

	pthread_mutex_lock(&w->write_lock);
	err = b2f_reform_for_commit(job->file);
	if (!err)
		err = freeze(job, how, nothing);
	pthread_mutex_unlock(&w->write_lock);
	return err;
}

static int encode_one(void *arg, size_t i)
{
	struct job *job = arg;

	/* finish() notes the error; the others are still to be encoded. */
	(void)b2f_encode_run(job->records[i]);
	b2f_record_unref(job->records[i]);
	return 0;
}

/*
 * On a full disk the chunks before the first one that could not be stored are
 * committed, if that only makes the file longer: a copy that did not fit leaves
 * its beginning, as on other filesystems.  Locked.
 */
static void cut_to_stored(struct job *job)
{
	const struct b2f_form *form = &job->file->frame->form;
	struct b2f_writer *w = job->writer;

	if (form->is_array || form->head)
		return;
	/* Not from the records that are left: one may have been stored since.
	 */
	job->in_part = b2f_edit_cut(w->edit, &job->commit, w->commit_failed);
}

/* Encodes what is to be committed; then the frozen state is complete. */
static int encode_all(struct job *job)
{
	struct b2f_file *file = job->file;
	struct b2f_writer *w = job->writer;
	int err, prepared = 0;

	err = b2f_pool_for(file->runtime->pool, B2F_POOL_DEMAND, job->n,
			   encode_one, job);
	pthread_mutex_lock(&file->lock);
	while (w->ncommit > 0)
		pthread_cond_wait(&w->changed, &file->lock);
	w->commit = NULL;
	if (!err)
		err = w->commit_err;
	if (err == -ENOSPC || err == -EDQUOT)
		cut_to_stored(job);
	if (!err || job->in_part)
		prepared = b2f_edit_prepare(w->edit, &job->commit);
	job->in_part &= !prepared;
	pthread_mutex_unlock(&file->lock);
	return prepared ? prepared : err;
}

/* Ends the commit; what failed is to be committed again. */
static void settle(struct job *job)
{
	struct b2f_file *file = job->file;
	struct b2f_writer *w = job->writer;
	bool done = job->commit.installed && !job->in_part;

	pthread_mutex_lock(&file->lock);
	if (!done) {
		if (job->dirty_since_ns)
			w->dirty_since_ns = job->dirty_since_ns;
		if (job->has_mtime && !w->has_mtime) {
			w->has_mtime = true;
			w->mtime = job->commit.mtime;
		}
	}
	b2f_edit_settle(w->edit, &job->commit);
	pthread_mutex_unlock(&file->lock);
	free(job->records);
	job->records = NULL;
	job->n = 0;
}

/* @err, unless what could not be completed was changed by others. */
static int or_stale(const struct b2f_writer *w, int err)
{
	return b2f_edit_has_changed(w->edit) > 0 ? -ESTALE : err;
}

/*
 * What is in files that could not be made durable is written again: now it can
 * still be read, and is checked by that.
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
		found = w->edit && b2f_edit_find_bad(w->edit, all, &nchunk);
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

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint32_t ms_until(uint64_t until_ns)
{
	uint64_t now = monotonic_ns();

	return until_ns > now ? (uint32_t)((until_ns - now) / NS_PER_MS) : 0;
}

/* One try; the commit_lock is held. */
static int try_commit(struct b2f_file *file, enum b2f_commit_how how,
		      uint64_t until_ns)
{
	struct job job = {
		.file = file,
		.writer = file->writer,
		.commit = {.each = each,
			   .each_context = file->runtime->pool,
			   .before = b2f_durability_get(
				   file->writer->durability)},
	};
	bool nothing;
	int err;

	err = rewrite_bad(file, job.commit.before == B2F_DISK_FAILED);
	if (!err)
		err = settle_and_freeze(&job, how, &nothing);
	if (err || nothing)
		return err;
	err = encode_all(&job);
	job.commit.lock_wait_ms = ms_until(until_ns);
	if (!err)
		err = b2f_edit_write(job.writer->edit, &job.commit);
	else if (job.in_part)
		/* The error is that there is more. */
		(void)!b2f_edit_write(job.writer->edit, &job.commit);
	if (err && !job.commit.installed)
		err = or_stale(job.writer, err);
	settle(&job);
	return err;
}

/* -ESTALE if there is a record of a chunk that another program changed. */
static int check_merge(struct b2f_writer *w, struct b2f_frame *theirs)
{
	struct b2f_edit_state state;
	struct b2f_record *d, *next;
	bool may = true;
	int err;

	err = b2f_edit_state_of(theirs, &state);
	if (err)
		return err;
	HASH_ITER(hh, w->records, d, next)
	may = may && b2f_edit_untouched(w->edit, &state, d->nchunk);
	b2f_edit_state_fini(&state);
	return may ? 0 : -ESTALE;
}

/* Locked, and nothing is BUSY. */
static int merge(struct b2f_file *file, struct b2f_frame *theirs)
{
	struct b2f_writer *w = file->writer;
	struct b2f_record *d, *next;
	int err;

	err = check_merge(w, theirs);
	if (!err)
		err = b2f_edit_merge(w->edit, theirs);
	if (err)
		return err;
	HASH_ITER(hh, w->records, d, next)
	if (d->nchunk < w->edit->working.n)
		d->base_raw = w->edit->working.raw[d->nchunk];
	b2f_file_set_frame(file, b2f_frame_ref(theirs));
	/* The index will be ours again, and not tell of what came with it. */
	file->has_foreign = true;
	return 0;
}

/* Another program changed the frame: what it wrote stays, ours is added. */
static int merge_theirs(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;
	struct b2f_frame *theirs = NULL;
	int err;

	pthread_mutex_lock(&w->write_lock);
	err = b2f_frame_reopen(file->frame, &theirs);
	if (!err) {
		pthread_mutex_lock(&file->lock);
		b2f_writer_wait_idle(file);
		err = merge(file, theirs);
		pthread_mutex_unlock(&file->lock);
	}
	pthread_mutex_unlock(&w->write_lock);
	if (!err)
		b2f_head_forget_all(file);
	/* Without an index it was deleted, as has been logged. */
	if (err == B2F_ENOTFRAME)
		err = -ESTALE;
	else if (err == -ESTALE)
		b2f_log(file->frame->log, B2F_LOG_ERROR,
			"%s: not committed: another program has changed the "
			"same chunks, or the size, since they were read",
			file->frame->label);
	b2f_frame_close(theirs);
	return err;
}

/* Says so once, however often it is tried. */
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

/* As long as other programs keep changing the frame. */
static int commit_until(struct b2f_file *file, enum b2f_commit_how how,
			uint64_t until_ns)
{
	struct b2f_writer *w = file->writer;
	bool is_locked = false;
	int err = -EBUSY;

	for (int i = 0; i < TRIES; i++) {
		err = try_commit(file, how, until_ns);
		if (err != -ESTALE && err != -EEXIST)
			break;
		/*
		 * Once more, and now without their doing it again.  There is an
		 * edit, and it stays while this has the commit_lock.
		 */
		if (!is_locked)
			is_locked = !b2f_edit_lock_out(
				w->edit, ms_until(until_ns), NULL);
		/* What could not get its name gets another one, next. */
		err = err == -ESTALE ? merge_theirs(file) : 0;
		if (err)
			break;
		/* Nothing contradicts ours: later, if not now. */
		err = -EBUSY;
	}
	if (is_locked)
		b2f_edit_let_in(w->edit);
	return err;
}

/* The commit_lock is held. */
static int commit_locked(struct b2f_file *file, enum b2f_commit_how how,
			 uint64_t until_ns)
{
	int err = commit_until(file, how, until_ns);

	tell_locked(file, err == -EAGAIN);
	b2f_writer_delete_dead(file, true);
	return err;
}

int b2f_file_commit(struct b2f_file *file, enum b2f_commit_how how)
{
	/* Those who queue for the commit_lock wait no longer than the first. */
	uint64_t until_ns = monotonic_ns() + (uint64_t)LOCK_WAIT_MS * NS_PER_MS;
	struct b2f_writer *w = b2f_writer_of(file);
	int err;

	if (!w)
		return 0;
	pthread_mutex_lock(&w->commit_lock);
	err = commit_locked(file, how, until_ns);
	pthread_mutex_unlock(&w->commit_lock);
	return err;
}

int b2f_file_try_commit(struct b2f_file *file, enum b2f_commit_how how)
{
	struct b2f_writer *w = b2f_writer_of(file);
	int err;

	if (!w)
		return 0;
	if (pthread_mutex_trylock(&w->commit_lock))
		return -EAGAIN;
	err = commit_locked(file, how, 0);
	pthread_mutex_unlock(&w->commit_lock);
	return err;
}
