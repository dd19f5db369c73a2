/* SPDX-License-Identifier: BSD-3-Clause */
/* encode_job.c - from a record of written pages to a chunk file */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "file/encode.h"
#include "file/reading.h"
#include "file/writer.h"
#include "programs/io.h"
#include "txn/chunk_write.h"
#include "txn/txn.h"
#include "txn/txn_commit.h"

bool b2f_encode_begin(struct b2f_record *rec)
{
	struct b2f_file *file = rec->file;
	struct b2f_txn *txn = file->writer->txn;

	if (rec->state != B2F_RECORD_OPEN || file->writer->closing)
		return false;
	rec->state = B2F_RECORD_BUSY;
	atomic_store(&rec->busy, true);
	rec->nbytes =
		b2f_txn_chunk_nbytes(txn, &txn->working, rec->nchunk);
	file->writer->nbusy++;
	return true;
}

/*
 * Returns the whole data of @rec in *@out: its own buffer if every page is
 * written, else the buffer of @enc, which stays in memory from chunk to chunk,
 * so that unwritten pages of the record take no memory.
 */
static int whole_data(struct b2f_record *rec, struct b2f_encoder *enc,
		      const uint8_t **out)
{
	uint32_t keep = (uint32_t)b2f_min_u64(rec->base_limit, rec->nbytes);
	int err = 0;

	if (b2f_record_is_full(rec, rec->nbytes)) {
		*out = rec->data;
		return 0;
	}
	err = b2f_scratch_reserve(&enc->data, rec->nbytes);
	if (!err && keep)
		err = b2f_reading_copy_base(rec, 0, enc->data.data, keep,
					    true);
	if (err)
		return err;
	b2f_record_overlay(rec, 0, rec->nbytes, enc->data.data);
	*out = enc->data.data;
	return 0;
}

/*
 * The highest level for @rec, or 0: the level of the frame.  Level 3 of zstd
 * takes twice the time of level 1 to save a tenth: worth it only for chunks
 * that are not short, and while the workers keep up.
 */
static unsigned int level_for(struct b2f_record *rec)
{
	struct b2f_pool *pool = rec->file->runtime->pool;
	struct b2f_writer *w = rec->file->writer;
	bool adapt, fast;

	pthread_mutex_lock(&rec->file->lock);
	adapt = w->options.adapt_clevel &&
		w->txn->header.clevel == B2F_CLEVEL_DEFAULT;
	fast = rec->nbytes <= B2F_ENCODE_SHORT ||
	       w->ncommit > b2f_pool_nworkers(pool);
	pthread_mutex_unlock(&rec->file->lock);
	return adapt && (fast || b2f_pool_is_behind(pool)) ? 1 : 0;
}

/* Encodes all data of @rec, into a new chunk file if it needs one. */
static int write_whole(struct b2f_record *rec, struct b2f_chunk_writer *cw,
		       struct b2f_txn_chunk *out)
{
	const uint8_t *data = NULL;
	int err = b2f_encode_guess(rec, cw->encoder);

	if (!err)
		err = whole_data(rec, cw->encoder, &data);
	if (!err)
		err = b2f_chunk_write(cw, rec->nchunk, data, rec->nbytes, out);
	return err;
}

/*
 * Writes the new chunk of @rec.  Readers may go on: they read written pages
 * only, and writers wait while @rec is BUSY.
 */
static int write_chunk(struct b2f_record *rec, struct b2f_txn_chunk *out)
{
	struct b2f_cache *cache = rec->file->runtime->cache;
	struct b2f_file *file = rec->file;
	struct b2f_writer *w = file->writer;
	struct b2f_chunk_writer cw = {
		.txn = w->txn,
		.clevel_max = level_for(rec),
		.no_seal = w->options.no_seal,
	};
	uint64_t start_ns = b2f_monotonic_ns();
	struct b2f_cache_loan loan;
	bool made = false;
	int err = b2f_cache_lend(cache, 0, b2f_record_memory(rec->nbytes), true,
				 &loan);

	if (err)
		return err;
	err = b2f_idle_get_encoder(&file->runtime->idle, &cw.encoder);
	if (err)
		goto out;
	err = b2f_encode_patch(rec, &cw, &made, out);
	if (!err && !made)
		err = write_whole(rec, &cw, out);
	if (!err && out->cbytes)
		b2f_tally_encoded(file->runtime->tally,
				  w->txn->header.codec,
				  rec->nbytes, out->cbytes, start_ns);
	b2f_idle_put_encoder(&file->runtime->idle, cw.encoder);
out:
	b2f_cache_repay(cache, &loan, 0);
	return err;
}

/* Takes @rec off the commit under way, which waits for it.  Locked. */
static void leave_commit(struct b2f_record *rec, int err)
{
	struct b2f_writer *w = rec->file->writer;

	if (!rec->in_commit)
		return;
	rec->in_commit = false;
	w->ncommit--;
	if (!err)
		return;
	w->commit_failed = b2f_min_u64(w->commit_failed, rec->nchunk);
	if (!w->commit_err)
		w->commit_err = err;
}

/* Puts @chunk into the states; after an error they are as before.  Locked. */
static int put(struct b2f_record *rec, const struct b2f_txn_chunk *chunk,
	       uint32_t old)
{
	struct b2f_writer *w = rec->file->writer;
	int err = 0;

	/* The record needs the old chunk until nothing can fail any more. */
	if (rec->in_commit)
		err = b2f_txn_reserve_patch(w->commit, rec->nchunk);
	if (!err)
		err = b2f_txn_put(w->txn, rec->nchunk, chunk, old);
	if (err)
		(void)!b2f_txn_drop(w->txn, chunk->raw);
	else if (rec->in_commit)
		b2f_txn_patch(w->txn, w->commit, rec->nchunk, chunk, old);
	return err;
}

/* Stores the result of encoding and ends BUSY.  Locked. */
static int finish(struct b2f_record *rec, const struct b2f_txn_chunk *chunk,
		  uint32_t old, int err)
{
	struct b2f_writer *w = rec->file->writer;

	if (!err)
		err = put(rec, chunk, old);
	leave_commit(rec, err);
	atomic_store(&rec->busy, false);
	w->nbusy--;
	if (err) {
		rec->state = B2F_RECORD_OPEN;
		/* A cancelled request says nothing about the record. */
		if (err != -EINTR)
			b2f_budget_fail(rec, true);
	} else {
		b2f_record_remove(rec);
	}
	pthread_cond_broadcast(&w->changed);
	return err;
}

int b2f_encode_run(struct b2f_record *rec, bool early)
{
	struct b2f_txn_chunk chunk = {0};
	struct b2f_file *file = rec->file;
	uint32_t old = 0;
	bool again;
	int err;

	b2f_record_ref(rec);
	do {
		err = write_chunk(rec, &chunk);
		if (!err)
			old = b2f_writer_cbytes(file, rec->base_raw);
		pthread_mutex_lock(&file->lock);
		again = err && early && rec->in_commit;
		if (!again)
			err = finish(rec, &chunk, old, err);
		pthread_mutex_unlock(&file->lock);
		early = false;
	} while (again);
	b2f_record_unref(rec);
	return err;
}

/* Encodes @rec, or returns -EAGAIN if it is BUSY or gone. */
static int encode_open(struct b2f_record *rec)
{
	struct b2f_file *file = rec->file;
	bool begun;

	pthread_mutex_lock(&file->lock);
	begun = b2f_record_find(file->writer, rec->nchunk) == rec &&
		b2f_encode_begin(rec);
	pthread_mutex_unlock(&file->lock);
	/* The record was OPEN, so no commit waited for it. */
	return begun ? b2f_encode_run(rec, true) : -EAGAIN;
}

static void put_both(struct b2f_record *rec)
{
	struct b2f_file *file = rec->file;

	b2f_record_unref(rec);
	b2f_file_unref(file);
}

int b2f_encode_spill(struct b2f_record *rec)
{
	int err = encode_open(rec);

	put_both(rec);
	return err;
}

struct encode_job {
	struct b2f_job job;
	/* Holds a reference to the record and one to its file. */
	struct b2f_record *record;
};

static void run_job(struct b2f_job *job, bool cancelled)
{
	struct encode_job *j = (struct encode_job *)job;

	/* The commit encodes it again and reports the error. */
	if (!cancelled)
		(void)encode_open(j->record);
	put_both(j->record);
	free(j);
}

void b2f_encode_submit(struct b2f_record *rec)
{
	struct encode_job *j = calloc(1, sizeof(*j));

	/* Without a job, the commit encodes @rec. */
	if (!j)
		return;
	j->job.run = run_job;
	j->record = rec;
	b2f_file_ref(rec->file);
	b2f_record_ref(rec);
	b2f_pool_submit(rec->file->runtime->pool, B2F_POOL_AHEAD, &j->job);
}
