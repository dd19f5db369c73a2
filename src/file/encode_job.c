/* SPDX-License-Identifier: BSD-3-Clause */
/* encode_job.c - from a record of written pages to a chunk file */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/log.h"
#include "file/writer.h"
#include "frame/chunk_write.h"

bool b2f_encode_begin(struct b2f_dirty *d)
{
	struct b2f_file *file = d->file;
	struct b2f_edit *edit = file->writer->edit;

	if (d->state != B2F_DIRTY_OPEN)
		return false;
	d->state = B2F_DIRTY_BUSY;
	atomic_store(&d->busy, true);
	d->nbytes =
		b2f_edit_chunk_nbytes(edit, d->nchunk, edit->working.nbytes);
	file->writer->nbusy++;
	b2f_budget_encoding(file->runtime, 1);
	return true;
}

/* Copies to @dst the pages of @d that were not written, from @base. */
static void fill_pages(struct b2f_dirty *d, const uint8_t *base)
{
	for (uint32_t at = 0; at < d->nbytes; at += B2F_PAGE) {
		uint32_t size = (uint32_t)b2f_min_u64(B2F_PAGE, d->nbytes - at);
		uint32_t keep = 0;

		if (b2f_dirty_has(d, at / B2F_PAGE))
			continue;
		if (at < d->base_limit)
			keep = (uint32_t)b2f_min_u64(size, d->base_limit - at);
		if (keep)
			memcpy(d->data + at, base + at, keep);
		memset(d->data + at + keep, 0, size - keep);
	}
}

/*
 * Makes the data of @d whole.  Readers take no notice: they read written pages
 * only, and nobody writes while it is BUSY.
 */
static int complete(struct b2f_dirty *d)
{
	uint8_t *base = NULL;
	int err = 0;

	if (b2f_dirty_is_full(d, d->nbytes))
		return 0;
	if (d->base_limit > 0) {
		base = malloc(d->base_nbytes);
		err = base ? b2f_file_read_chunk(d->file, d->nchunk,
						 d->base_raw, d->base_nbytes, 0,
						 base, d->base_nbytes)
			   : -ENOMEM;
	}
	if (!err)
		fill_pages(d, base);
	free(base);
	return err;
}

/* The first data of a frame tell its item size. */
static int guess_typesize(struct b2f_dirty *d, struct b2f_encoder *enc)
{
	struct b2f_file *file = d->file;
	struct b2f_writer *w = file->writer;
	uint32_t typesize = 1;
	bool wanted;
	int err;

	pthread_mutex_lock(&file->lock);
	wanted = w->guess_typesize;
	pthread_mutex_unlock(&file->lock);
	if (!wanted)
		return 0;
	err = b2f_encode_guess_typesize(enc, d->data, d->nbytes, &typesize);
	if (err)
		return err;
	pthread_mutex_lock(&file->lock);
	if (w->guess_typesize) {
		w->guess_typesize = false;
		b2f_edit_set_typesize(w->edit, typesize);
	}
	pthread_mutex_unlock(&file->lock);
	return 0;
}

/* Encodes the whole data of @d into a new chunk file, if it needs one. */
static int write_chunk(struct b2f_dirty *d, struct b2f_edit_chunk *out)
{
	struct b2f_file *file = d->file;
	struct b2f_writer *w = file->writer;
	struct b2f_chunk_writer cw = {
		.edit = w->edit,
		.lock = &file->lock,
		.no_seal = w->options.no_seal,
	};
	int err;

	err = b2f_runtime_encoder_get(file->runtime, &cw.encoder);
	if (err)
		return err;
	err = guess_typesize(d, cw.encoder);
	if (!err)
		err = b2f_chunk_write(&cw, d->nchunk, d->data, d->nbytes, out);
	b2f_runtime_encoder_put(file->runtime, cw.encoder);
	return err;
}

/* What the chunk before takes. */
static uint32_t old_cbytes(struct b2f_dirty *d)
{
	struct b2f_file *file = d->file;
	struct b2f_edit *edit = file->writer->edit;
	uint32_t cbytes = 0;
	bool known;

	pthread_mutex_lock(&file->lock);
	known = b2f_edit_known_cbytes(edit, d->base_raw, &cbytes);
	pthread_mutex_unlock(&file->lock);
	return known ? cbytes : b2f_edit_read_cbytes(edit, d->base_raw);
}

/* The commit under way has one record less to wait for.  Locked. */
static void leave_commit(struct b2f_dirty *d, int err)
{
	struct b2f_writer *w = d->file->writer;

	if (!d->in_commit)
		return;
	d->in_commit = false;
	w->ncommit--;
	if (err && !w->commit_err)
		w->commit_err = err;
}

/* Ends what b2f_encode_begin() began.  Locked. */
static int finish(struct b2f_dirty *d, const struct b2f_edit_chunk *chunk,
		  uint32_t old, int err)
{
	struct b2f_writer *w = d->file->writer;

	if (!err)
		err = b2f_edit_put(w->edit, d->nchunk, chunk, old);
	if (!err && d->in_commit)
		b2f_edit_patch(w->edit, w->commit, d->nchunk, chunk, old);
	leave_commit(d, err);
	atomic_store(&d->busy, false);
	w->nbusy--;
	if (err) {
		d->state = B2F_DIRTY_OPEN;
		atomic_store(&d->failed, true);
	} else {
		b2f_dirty_remove(d);
	}
	pthread_cond_broadcast(&w->changed);
	return err;
}

int b2f_encode_run(struct b2f_dirty *d)
{
	struct b2f_edit_chunk chunk = {0};
	struct b2f_file *file = d->file;
	struct b2f_runtime *rt = file->runtime;
	uint32_t old = 0;
	int err;

	err = complete(d);
	if (!err)
		err = write_chunk(d, &chunk);
	if (!err)
		old = old_cbytes(d);
	b2f_dirty_ref(d);
	pthread_mutex_lock(&file->lock);
	err = finish(d, &chunk, old, err);
	pthread_mutex_unlock(&file->lock);
	b2f_dirty_unref(d);
	b2f_budget_encoding(rt, -1);
	return err;
}

struct encode_job {
	struct b2f_job job;
	/* Hold references. */
	struct b2f_file *file;
	struct b2f_dirty *dirty;
};

static void run_job(struct b2f_job *job, bool cancelled)
{
	struct encode_job *j = (struct encode_job *)job;
	struct b2f_file *file = j->file;
	bool begun = false;

	if (!cancelled) {
		pthread_mutex_lock(&file->lock);
		begun = b2f_dirty_find(file->writer, j->dirty->nchunk) ==
				j->dirty &&
			b2f_encode_begin(j->dirty);
		pthread_mutex_unlock(&file->lock);
	}
	/* Who commits will try again, and tell the error. */
	if (begun)
		(void)b2f_encode_run(j->dirty);
	b2f_dirty_unref(j->dirty);
	b2f_file_unref(file);
	free(j);
}

void b2f_encode_submit(struct b2f_dirty *d)
{
	struct encode_job *j = calloc(1, sizeof(*j));

	/* Without it, the commit encodes it. */
	if (!j)
		return;
	j->job.run = run_job;
	j->file = d->file;
	j->dirty = d;
	b2f_file_ref(d->file);
	b2f_dirty_ref(d);
	b2f_pool_submit(d->file->runtime->pool, B2F_POOL_AHEAD, &j->job);
}
