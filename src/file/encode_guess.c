/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode_guess.c - guesses the item size of an empty frame from its first data
 *
 * Any chunk may be encoded first, on any thread, but the sample is always taken
 * from the lowest chunk with data: its written pages, even if more will follow.
 * A program that writes a file in order, as cp does, thus gets the item size
 * that suits chunk 0, however busy the workers are.  (A commit cannot wait
 * until chunk 0 is complete: it may never be.)  Zeros tell nothing, and do not
 * depend on the item size either.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "file/encode.h"
#include "file/writer.h"
#include "frame/settings.h"
#include "txn/txn.h"

/* Sample of a chunk, at most. */
#define SAMPLE_MAX (4u << 20)

static bool is_wanted(struct b2f_file *file)
{
	B2F_HOLD(&file->lock);

	return file->writer->guess_typesize;
}

static bool is_zeros(const uint8_t *data, size_t n)
{
	return !data[0] && !memcmp(data, data + 1, n - 1);
}

/*
 * Finds the written pages of @rec: from the first page that is not all zeros to
 * the last one, cut to @nbytes.  Returns false if there is none.  The pages are
 * locked.
 */
static bool find_data(const struct b2f_record *rec, uint32_t nbytes,
		      uint32_t *start, uint32_t *end)
{
	bool found = false;

	for (uint32_t at = 0; at < nbytes; at += B2F_PAGE) {
		uint32_t n = (uint32_t)b2f_min_u64(B2F_PAGE, nbytes - at);

		if (!b2f_record_has(rec, at / B2F_PAGE))
			continue;
		if (!found && is_zeros(rec->data + at, n))
			continue;
		if (!found)
			*start = at;
		found = true;
		*end = at + n;
		/* This much is enough for a guess. */
		if (*end - *start >= SAMPLE_MAX)
			break;
	}
	return found;
}

static bool has_data(struct b2f_record *rec, uint32_t nbytes)
{
	uint32_t start = 0, end = 0;
	bool has;

	pthread_rwlock_rdlock(&rec->lock);
	has = find_data(rec, nbytes, &start, &end);
	pthread_rwlock_unlock(&rec->lock);
	return has;
}

/* Copies the data of @rec, if it has any, to @enc; holes become zeros. */
static int take_sample(struct b2f_record *rec, uint32_t nbytes,
		       struct b2f_encoder *enc, size_t *size)
{
	uint32_t start = 0, end = 0;
	int err = 0;

	pthread_rwlock_rdlock(&rec->lock);
	if (find_data(rec, nbytes, &start, &end))
		err = b2f_scratch_reserve(&enc->data, end - start);
	if (!err && end > start) {
		memset(enc->data.data, 0, end - start);
		b2f_record_overlay(rec, start, end - start, enc->data.data);
	}
	pthread_rwlock_unlock(&rec->lock);
	*size = end - start;
	return err;
}

/* A record, with a reference, and its length. */
struct candidate {
	struct b2f_record *record;
	uint32_t nbytes;
};

static int by_nchunk(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->record->nchunk > y->record->nchunk) -
	       (x->record->nchunk < y->record->nchunk);
}

/* All records, the lowest first; free *@out. */
static int list_records(struct b2f_file *file, struct candidate **out,
			size_t *n)
{
	struct b2f_writer *w = file->writer;
	struct candidate *list;
	struct b2f_record *rec, *next;

	pthread_mutex_lock(&file->lock);
	list = malloc((HASH_COUNT(w->records) + 1) * sizeof(*list));
	*n = 0;
	HASH_ITER(hh, w->records, rec, next)
	{
		if (!list)
			break;
		b2f_record_ref(rec);
		list[(*n)++] = (struct candidate){
			rec, b2f_txn_chunk_nbytes(w->txn, &w->txn->working,
						   rec->nchunk)};
	}
	pthread_mutex_unlock(&file->lock);
	if (!list)
		return -ENOMEM;
	qsort(list, *n, sizeof(*list), by_nchunk);
	*out = list;
	return 0;
}

/* Guesses by the lowest record with data; 0: all are zeros. */
static int guess(struct b2f_file *file, struct b2f_encoder *enc,
		 uint32_t *typesize)
{
	struct b2f_settings settings = {.chunksize = -1};
	B2F_OWN struct candidate *list = NULL;
	size_t n = 0, size = 0;
	int err = list_records(file, &list, &n);

	for (size_t i = 0; i < n && !err && size == 0; i++)
		err = take_sample(list[i].record, list[i].nbytes, enc, &size);
	for (size_t i = 0; i < n; i++)
		b2f_record_unref(list[i].record);
	if (!err && size)
		err = b2f_settings_guess_by(&settings, enc, enc->data.data,
					    size);
	if (!err)
		*typesize = settings.typesize;
	return err;
}

/* The largest item size that divides both: their greatest common divisor. */
static uint32_t part_of(uint32_t typesize, uint32_t chunksize)
{
	while (typesize) {
		uint32_t rest = chunksize % typesize;

		chunksize = typesize;
		typesize = rest;
	}
	return chunksize;
}

/*
 * Does @state end with a hole that is no whole number of items?  No index entry
 * can describe such a hole.
 */
static bool ends_with_hole(const struct b2f_txn_state *state,
			   uint32_t typesize)
{
	return state->nbytes % typesize != 0 &&
	       !b2f_txn_is_stored(b2f_txn_raw(state, state->n - 1));
}

/*
 * Does the commit under way allow items of @typesize?  Its length is fixed, and
 * its chunks are too once their records are encoded.  Locked.
 */
static bool commit_allows(struct b2f_file *file, uint32_t typesize)
{
	struct b2f_writer *w = file->writer;
	const struct b2f_txn_state *state;
	struct b2f_record *rec;

	if (!w->commit)
		return !w->txn->garbage.committing;
	state = &w->commit->state;
	if (!ends_with_hole(state, typesize))
		return true;
	rec = b2f_record_find(w, state->n - 1);
	return rec && rec->in_commit &&
	       has_data(rec,
			b2f_txn_chunk_nbytes(w->txn, state, rec->nchunk));
}

/*
 * Does the working state allow items of @typesize?  A writer makes the file
 * longer before it writes, so a hole at the end may be about to get data: it
 * gets a record, which is encoded later with its data.  A record that is being
 * encoded as zeros is too late for that.  Locked.
 */
static bool end_allows(struct b2f_file *file, uint32_t typesize)
{
	struct b2f_writer *w = file->writer;
	const struct b2f_txn_state *state = &w->txn->working;
	struct b2f_record *rec;

	if (!ends_with_hole(state, typesize))
		return true;
	rec = b2f_record_find(w, state->n - 1);
	if (!rec)
		/* This does not wait: no record exists that could be BUSY. */
		return !b2f_record_get(file, state->n - 1,
				       B2F_RECORD_SPARSE, &rec);
	return rec->state == B2F_RECORD_OPEN ||
	       has_data(rec,
			b2f_txn_chunk_nbytes(w->txn, state, rec->nchunk));
}

static void set_typesize(struct b2f_file *file, uint32_t typesize)
{
	struct b2f_writer *w = file->writer;
	B2F_HOLD(&file->lock);

	/* Another thread may have guessed meanwhile. */
	if (w->guess_typesize) {
		w->guess_typesize = false;
		typesize =
			part_of(typesize, (uint32_t)w->txn->header.chunksize);
		if (commit_allows(file, typesize) && end_allows(file, typesize))
			b2f_txn_set_typesize(w->txn, typesize);
	}
}

int b2f_encode_guess(struct b2f_record *rec, struct b2f_encoder *enc)
{
	uint32_t typesize = 0;
	int err;

	if (!is_wanted(rec->file) || !has_data(rec, rec->nbytes))
		return 0;
	err = guess(rec->file, enc, &typesize);
	if (!err && typesize)
		set_typesize(rec->file, typesize);
	return err;
}
