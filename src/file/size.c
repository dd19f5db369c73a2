/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * size.c - grows and cuts the stored data
 *
 * A chunk whose length changes gets a record: every chunk without a record has
 * the length that follows from the size of the file.
 */
#include "base/checked.h"
#include "file/change.h"
#include "file/writer.h"
#include "txn/txn.h"
#include "frame/layout_index.h"

/* Chunk @nchunk gets a record if it has none.  Locked. */
static int need_record(struct b2f_file *file, uint64_t nchunk)
{
	struct b2f_record *rec;

	return b2f_record_get(file, nchunk, B2F_RECORD_SPARSE, &rec);
}

/*
 * A file of holes has a few bytes of memory for each chunk; a number alone must
 * not fill the memory.  Frames that are larger already may stay so.
 */
#define NCHUNKS_GROW B2F_LAYOUT_NCHUNKS_MAX

/* Stored holes take a record each: fewer are allowed. */
#define NSTORED_GROW 4096

/* Gives chunk @nchunk a record if it is a hole that has to be stored. */
static int fix_hole(struct b2f_file *file, uint64_t nchunk)
{
	struct b2f_txn *txn = file->writer->txn;
	uint32_t nbytes = b2f_txn_chunk_nbytes(txn, &txn->working, nchunk);

	if (b2f_txn_is_stored(b2f_txn_raw(&txn->working, nchunk)) || nbytes == 0 ||
	    b2f_txn_may_be_hole(txn, nbytes))
		return 0;
	return need_record(file, nchunk);
}

/*
 * Gives holes from @first on records if they have to be stored: if no chunk can
 * be a hole (b2f_txn_may_have_holes()), or the last one is no whole number of
 * items.
 */
static int fix_holes(struct b2f_file *file, uint64_t first)
{
	struct b2f_txn *txn = file->writer->txn;
	uint64_t n = txn->working.n;
	int err = 0;

	if (b2f_txn_may_have_holes(txn))
		first = n - 1;
	if (n - first > NSTORED_GROW)
		return B2F_ETOOBIG;
	for (uint64_t i = first; i < n && !err; i++)
		err = fix_hole(file, i);
	return err;
}

/* Cuts the file back to @n chunks and @nbytes, after it could not grow. */
static void ungrow(struct b2f_file *file, uint64_t n, uint64_t nbytes)
{
	b2f_record_remove_from(file->writer, n);
	/* This cannot fail: the removed chunks have no files. */
	(void)!b2f_txn_resize(file->writer->txn, n, nbytes, 0);
	if (n)
		b2f_record_drop_needless(file, n - 1);
}

int b2f_size_grow(struct b2f_file *file, uint64_t size)
{
	struct b2f_txn *txn = file->writer->txn;
	struct b2f_txn_state *state = &txn->working;
	uint64_t n = state->n, nbytes = state->nbytes, after;
	struct b2f_record *rec;
	int err;

	if (size > B2F_SIZE_LIMIT)
		return B2F_ETOOBIG;
	after = b2f_txn_count_chunks(txn, size);
	if (after > b2f_max_u64(NCHUNKS_GROW, n))
		return B2F_ETOOBIG;
	err = b2f_holes_grow(file, after);
	if (err)
		return err;
	if (n && b2f_txn_chunk_nbytes(txn, state, n - 1) <
			 b2f_txn_chunk_room(txn, n - 1)) {
		/* Wait: a BUSY record is being encoded with the old length. */
		err = b2f_record_get(file, n - 1, B2F_RECORD_NONE, &rec);
		if (!err &&
		    b2f_txn_raw(state, n - 1) != b2f_entry_raw(B2F_SPECIAL_ZEROS))
			err = need_record(file, n - 1);
	}
	if (!err)
		err = b2f_txn_resize(txn, after, size, 0);
	if (!err)
		err = fix_holes(file, n ? n - 1 : 0);
	if (err)
		ungrow(file, n, nbytes);
	else
		b2f_writer_note(file->writer);
	return err;
}

/* Stored size of the chunks from @first on that have files. */
static uint64_t sum_cbytes(struct b2f_file *file, uint64_t first)
{
	struct b2f_txn *txn = file->writer->txn;
	uint64_t sum = 0, n = txn->working.n;

	for (uint64_t i = first; i < n; i++) {
		uint64_t raw;

		pthread_mutex_lock(&file->lock);
		raw = b2f_txn_raw(&txn->working, i);
		pthread_mutex_unlock(&file->lock);
		sum += b2f_writer_cbytes(file, raw);
	}
	return sum;
}

/* Cuts the chunk that contains the new end, if there is one.  Locked. */
static int cut_last(struct b2f_file *file, uint64_t size)
{
	struct b2f_txn *txn = file->writer->txn;
	struct b2f_frame_span span = b2f_txn_locate(txn, size);
	uint32_t nbytes = (uint32_t)(size - span.start);
	struct b2f_record *rec = NULL;
	bool stored;
	int err;

	if (nbytes == 0)
		return 0;
	stored = b2f_txn_raw(&txn->working, span.nchunk) !=
			 b2f_entry_raw(B2F_SPECIAL_ZEROS) ||
		 !b2f_txn_may_be_hole(txn, nbytes);
	err = b2f_record_get(file, span.nchunk,
			     stored ? B2F_RECORD_SPARSE : B2F_RECORD_NONE, &rec);
	if (!err && rec)
		b2f_record_cut(rec, nbytes);
	return err;
}

/* Locked; the write_lock is held, and nothing is BUSY. */
static int shrink(struct b2f_file *file, uint64_t size, uint64_t old)
{
	struct b2f_txn *txn = file->writer->txn;
	uint64_t n = b2f_txn_count_chunks(txn, size);
	int err = b2f_txn_reserve_cut(txn, n);

	if (!err)
		err = cut_last(file, size);
	if (err)
		return err;
	b2f_record_remove_from(file->writer, n);
	err = b2f_txn_resize(txn, n, size, old);
	b2f_holes_cut(file);
	b2f_writer_note(file->writer);
	return err;
}

int b2f_size_set(struct b2f_file *file, uint64_t size)
{
	struct b2f_txn *txn = file->writer->txn;
	uint64_t old = 0, n;
	int err = 0;

	pthread_mutex_lock(&file->lock);
	b2f_writer_wait_idle(file);
	n = b2f_txn_count_chunks(txn, b2f_min_u64(size, B2F_SIZE_LIMIT));
	pthread_mutex_unlock(&file->lock);
	if (n == 0)
		old = UINT64_MAX;
	else if (n < txn->working.n)
		old = sum_cbytes(file, n);
	pthread_mutex_lock(&file->lock);
	/* A thread that needs memory may have had records encoded meanwhile. */
	b2f_writer_wait_idle(file);
	if (size < txn->working.nbytes)
		err = shrink(file, size, old);
	else if (size > txn->working.nbytes)
		err = b2f_size_grow(file, size);
	pthread_mutex_unlock(&file->lock);
	return err;
}
