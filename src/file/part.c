/* SPDX-License-Identifier: BSD-3-Clause */
/* part.c - changes to the bytes of chunks */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "file/change.h"
#include "file/encode.h"
#include "file/gather.h"
#include "file/writer.h"
#include "txn/txn.h"

/*
 * A write of this many bytes at the begin of a chunk is likely to fill it.  A
 * writer of scattered pages must not count for whole chunks.
 */
#define DENSE_START (64u << 10)

/* Pages of @rec that were not written before @part. */
static uint32_t count_new_pages(const struct b2f_record *rec,
				const struct b2f_part *part)
{
	uint32_t last = (part->start + part->size - 1) / B2F_PAGE, n = 0;

	for (uint32_t i = part->start / B2F_PAGE; i <= last; i++)
		n += !b2f_record_has(rec, i);
	return n;
}

/* Reads the old contents of page @page of the chunk. */
static int read_page(struct b2f_record *rec, uint32_t page, uint8_t *buf)
{
	uint32_t at = page * B2F_PAGE, size = 0;

	memset(buf, 0, B2F_PAGE);
	if (at < rec->base_limit)
		size = (uint32_t)b2f_min_u64(B2F_PAGE, rec->base_limit - at);
	if (size == 0)
		return 0;
	return b2f_reading_copy_base(rec, at, buf, size, false);
}

/* Reads the pages that @part covers partly and that were not written before. */
static int read_edges(struct b2f_record *rec, const struct b2f_part *part,
		      struct b2f_record_edges *edges)
{
	uint32_t end = part->start + part->size;
	uint32_t first = part->start / B2F_PAGE, last = (end - 1) / B2F_PAGE;
	int err = 0;

	if (part->start % B2F_PAGE && !b2f_record_has(rec, first)) {
		err = read_page(rec, first, edges->page[0]);
		edges->has[0] = true;
	}
	if (err || end % B2F_PAGE == 0 || b2f_record_has(rec, last))
		return err;
	if (last == first && edges->has[0])
		return 0;
	edges->has[1] = true;
	return read_page(rec, last, edges->page[1]);
}

/*
 * Gets the record for @part, with a reference, and counts its new bytes.  If
 * another thread has encoded the record while it was not locked, returns
 * -EAGAIN: start again.
 */
static int prepare_part(struct b2f_file *file, const struct b2f_part *part,
			struct b2f_record_edges *edges, struct b2f_record **out)
{
	struct b2f_record *rec = NULL, *now = NULL;
	uint64_t bytes;
	int err;

	pthread_mutex_lock(&file->lock);
	err = b2f_record_get(file, part->nchunk,
			     part->dense ? B2F_RECORD_DENSE
					 : B2F_RECORD_SPARSE,
			     &rec);
	if (err) {
		pthread_mutex_unlock(&file->lock);
		return err;
	}
	b2f_record_ref(rec);
	bytes = b2f_record_cost(rec, count_new_pages(rec, part));
	pthread_mutex_unlock(&file->lock);
	err = read_edges(rec, part, edges);
	if (!err)
		err = b2f_budget_take(file, bytes);
	pthread_mutex_lock(&file->lock);
	now = b2f_record_find(file->writer, part->nchunk);
	if (!err && now == rec && rec->state == B2F_RECORD_OPEN) {
		b2f_budget_add(rec, bytes);
		*out = rec;
		return 0;
	}
	pthread_mutex_unlock(&file->lock);
	if (!err)
		b2f_budget_give(&file->runtime->budget, bytes);
	b2f_record_unref(rec);
	/* If it was encoded meanwhile, its old chunk file may be gone. */
	return err && now == rec ? err : -EAGAIN;
}

void b2f_part_drop_unwritten(struct b2f_file *file, uint64_t nchunk)
{
	pthread_mutex_lock(&file->lock);
	b2f_record_drop_needless(file, nchunk);
	pthread_mutex_unlock(&file->lock);
}

int b2f_part_write(struct b2f_file *file, const struct b2f_part *part)
{
	struct b2f_txn *txn = file->writer->txn;
	struct b2f_record_edges edges;
	struct b2f_record *rec = NULL;
	uint32_t end = part->start + part->size;
	int err;

	do {
		edges.has[0] = edges.has[1] = false;
		err = prepare_part(file, part, &edges, &rec);
	} while (err == -EAGAIN);
	if (err) {
		b2f_part_drop_unwritten(file, part->nchunk);
		return err;
	}
	/* The file is locked. */
	b2f_record_write(rec, part->start, part->buf, part->size, &edges);
	b2f_budget_fail(rec, false);
	b2f_writer_note(file->writer);
	/* A program that writes in order will not come back to this chunk. */
	if (end == b2f_txn_chunk_room(txn, part->nchunk) &&
	    b2f_record_is_filled(rec, end))
		b2f_encode_submit(rec);
	pthread_mutex_unlock(&file->lock);
	b2f_record_unref(rec);
	return 0;
}

uint64_t b2f_part_write_range(struct b2f_file *file, const uint8_t *buf,
			      uint64_t size, uint64_t off, int *err)
{
	uint64_t done = 0;

	while (done < size) {
		uint64_t at = off + done;
		struct b2f_frame_span span =
			b2f_txn_locate(file->writer->txn, at);
		struct b2f_part part = {
			.nchunk = span.nchunk,
			.start = (uint32_t)(at - span.start),
			.buf = buf + done,
		};

		part.size = (uint32_t)b2f_min_u64(size - done,
						  span.nbytes - part.start);
		part.dense = part.start == 0 && size >= DENSE_START;
		*err = b2f_part_write(file, &part);
		if (*err)
			break;
		done += part.size;
	}
	return done;
}

int b2f_part_rewrite_chunk(struct b2f_file *file, uint64_t nchunk)
{
	struct b2f_txn *txn = file->writer->txn;
	uint64_t start = b2f_txn_chunk_start(txn, &txn->working, nchunk);
	uint32_t nbytes = b2f_txn_chunk_nbytes(txn, &txn->working, nchunk);
	B2F_OWN uint8_t *buf = malloc(nbytes);
	struct b2f_reading r;
	int err;

	if (!buf)
		return -ENOMEM;
	b2f_reading_begin(file, &r);
	err = b2f_gather_stored(&r, buf, nbytes, start);
	b2f_reading_end(&r);
	if (!err)
		b2f_part_write_range(file, buf, nbytes, start, &err);
	return err;
}
