/* SPDX-License-Identifier: BSD-3-Clause */
/* record.c - chunks with written pages that are not encoded yet */
#include "file/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "file/writer.h"
#include "txn/txn.h"

static uint32_t count_pages(uint32_t nbytes)
{
	return nbytes / B2F_PAGE + (nbytes % B2F_PAGE != 0);
}

/* End of the pages in memory; before the end of the room unless all may be. */
static uint32_t in_memory(const struct b2f_record *rec)
{
	if (rec->in_memory || b2f_record_is_full(rec, rec->room))
		return rec->room;
	return rec->used < rec->room ? rec->used : rec->room - 1;
}

void b2f_record_unref(struct b2f_record *rec)
{
	if (!rec ||
	    atomic_fetch_sub_explicit(&rec->refs, 1, memory_order_acq_rel) != 1)
		return;
	b2f_idle_put_pages(&rec->file->runtime->idle, rec->data, rec->room,
			   in_memory(rec));
	free(rec->valid);
	pthread_rwlock_destroy(&rec->lock);
	free(rec);
}

struct b2f_record *b2f_record_find(const struct b2f_writer *w, uint64_t nchunk)
{
	struct b2f_record *rec;

	HASH_FIND(hh, w->records, &nchunk, sizeof(nchunk), rec);
	return rec;
}

/* A record of chunk @nchunk of the working state, without any page. */
static struct b2f_record *new_record(struct b2f_file *file, uint64_t nchunk,
				     bool dense)
{
	struct b2f_txn *txn = file->writer->txn;
	uint32_t npages, room = b2f_txn_chunk_room(txn, nchunk);
	struct b2f_record *rec = calloc(1, sizeof(*rec));

	if (!rec)
		return NULL;
	npages = count_pages(room);
	atomic_init(&rec->refs, 1);
	pthread_rwlock_init(&rec->lock, NULL);
	rec->file = file;
	rec->nchunk = nchunk;
	rec->room = room;
	rec->base_raw = b2f_txn_raw(&txn->working, nchunk);
	rec->base_nbytes =
		b2f_txn_chunk_nbytes(txn, &txn->working, nchunk);
	rec->base_limit = rec->base_nbytes;
	if (rec->base_raw == b2f_entry_raw(B2F_SPECIAL_ZEROS))
		rec->base_limit = 0;
	rec->valid = calloc(npages / 64 + 1, sizeof(*rec->valid));
	rec->data = b2f_idle_get_pages(&file->runtime->idle, room, dense,
				       &rec->in_memory);
	if (!rec->valid || !rec->data) {
		b2f_record_unref(rec);
		return NULL;
	}
	return rec;
}

/*
 * Refuses a chunk that could never be encoded (at its full length) before a
 * write to it is accepted.
 */
static int check_size(const struct b2f_file *file, uint64_t nchunk)
{
	uint32_t room = b2f_txn_chunk_room(file->writer->txn, nchunk);
	uint64_t need = b2f_record_memory(room);
	size_t max = b2f_cache_loan_max(file->runtime->cache);

	if (need <= max)
		return 0;
	b2f_log(file->frame->log, B2F_LOG_WARNING,
		"%s: not written: encoding a chunk of %u bytes takes %llu "
		"bytes of memory, and cachesize is %zu",
		file->frame->label, room, (unsigned long long)need, max);
	return B2F_ETOOBIG;
}

int b2f_record_get(struct b2f_file *file, uint64_t nchunk,
		   enum b2f_record_make make, struct b2f_record **out)
{
	struct b2f_writer *w = file->writer;
	struct b2f_record *rec;
	int err;

	for (;;) {
		rec = b2f_record_find(w, nchunk);
		if (!rec || rec->state != B2F_RECORD_BUSY)
			break;
		pthread_cond_wait(&w->changed, &file->lock);
	}
	if (!rec && make != B2F_RECORD_NONE) {
		err = check_size(file, nchunk);
		if (err)
			return err;
		rec = new_record(file, nchunk, make == B2F_RECORD_DENSE);
		if (!rec)
			return -ENOMEM;
		HASH_ADD(hh, w->records, nchunk, sizeof(rec->nchunk), rec);
	}
	*out = rec;
	return 0;
}

void b2f_record_remove(struct b2f_record *rec)
{
	HASH_DEL(rec->file->writer->records, rec);
	/*
	 * Now, and not at the last reference: a writer may wait for this
	 * memory.
	 */
	b2f_budget_remove(rec);
	b2f_record_unref(rec);
}

/* Is @rec what the chunk of @nbytes would be without it? */
static bool is_needless(const struct b2f_record *rec, uint32_t nbytes)
{
	const struct b2f_txn *txn = rec->file->writer->txn;

	if (rec->state != B2F_RECORD_OPEN || rec->nvalid)
		return false;
	if (rec->base_raw == b2f_entry_raw(B2F_SPECIAL_ZEROS))
		return b2f_txn_may_be_hole(txn, nbytes);
	return rec->base_limit == rec->base_nbytes &&
	       rec->base_nbytes == nbytes;
}

void b2f_record_drop_needless(struct b2f_file *file, uint64_t nchunk)
{
	const struct b2f_txn *txn = file->writer->txn;
	struct b2f_record *rec = b2f_record_find(file->writer, nchunk);

	if (rec && is_needless(rec, b2f_txn_chunk_nbytes(txn, &txn->working,
							 nchunk)))
		b2f_record_remove(rec);
}

void b2f_record_remove_from(struct b2f_writer *w, uint64_t first)
{
	struct b2f_record *rec, *next;

	HASH_ITER(hh, w->records, rec, next)
	if (rec->nchunk >= first)
		b2f_record_remove(rec);
}

/* Bytes of @page that are within the room. */
static uint32_t page_size(const struct b2f_record *rec, uint32_t page)
{
	return (uint32_t)b2f_min_u64(B2F_PAGE, rec->room - page * B2F_PAGE);
}

static void set_valid(struct b2f_record *rec, uint32_t page)
{
	uint32_t end = page * B2F_PAGE + page_size(rec, page);

	rec->valid[page / 64] |= UINT64_C(1) << (page % 64);
	rec->nvalid++;
	rec->used = (uint32_t)b2f_max_u64(rec->used, end);
}

/* Prepares the first write to @page: @before are its old bytes, if needed. */
static void begin_page(struct b2f_record *rec, uint32_t page,
		       const uint8_t *before)
{
	uint8_t *dst = rec->data + (size_t)page * B2F_PAGE;

	if (before)
		memcpy(dst, before, page_size(rec, page));
	set_valid(rec, page);
}

void b2f_record_write(struct b2f_record *rec, uint32_t start,
		      const uint8_t *buf, uint32_t size,
		      const struct b2f_record_edges *edges)
{
	uint32_t first = start / B2F_PAGE, last = (start + size - 1) / B2F_PAGE;

	pthread_rwlock_wrlock(&rec->lock);
	for (uint32_t page = first; page <= last; page++) {
		const uint8_t *before = NULL;

		if (b2f_record_has(rec, page))
			continue;
		if (page == last && edges->has[1])
			before = edges->page[1];
		else if (page == first && edges->has[0])
			before = edges->page[0];
		begin_page(rec, page, before);
	}
	memcpy(rec->data + start, buf, size);
	pthread_rwlock_unlock(&rec->lock);
}

uint64_t b2f_record_cost(const struct b2f_record *rec, uint32_t npages)
{
	if (rec->in_memory)
		npages = rec->bytes ? 0 : count_pages(rec->room);
	return (uint64_t)npages * B2F_PAGE;
}

void b2f_record_cut(struct b2f_record *rec, uint32_t size)
{
	uint32_t page = size / B2F_PAGE;
	uint64_t freed = 0;

	rec->base_limit = (uint32_t)b2f_min_u64(rec->base_limit, size);
	pthread_rwlock_wrlock(&rec->lock);
	/*
	 * The bytes that are cut off must not come back when the file grows
	 * again.
	 */
	if (size % B2F_PAGE && b2f_record_has(rec, page))
		memset(rec->data + size, 0,
		       page_size(rec, page) - size % B2F_PAGE);
	for (page += size % B2F_PAGE != 0; page < count_pages(rec->room);
	     page++) {
		if (!b2f_record_has(rec, page))
			continue;
		rec->valid[page / 64] &= ~(UINT64_C(1) << (page % 64));
		rec->nvalid--;
		freed += rec->in_memory ? 0 : B2F_PAGE;
	}
	pthread_rwlock_unlock(&rec->lock);
	b2f_budget_drop(rec, b2f_min_u64(freed, rec->bytes));
}

bool b2f_record_is_full(const struct b2f_record *rec, uint32_t nbytes)
{
	return rec->nvalid >= count_pages(nbytes);
}

bool b2f_record_is_filled(const struct b2f_record *rec, uint32_t nbytes)
{
	uint32_t from = rec->base_limit < nbytes ? rec->base_limit : 0;

	return rec->nvalid + from / B2F_PAGE >= count_pages(nbytes);
}

void b2f_record_overlay(const struct b2f_record *rec, uint32_t off,
			uint32_t size, uint8_t *data)
{
	uint32_t end = off + size, stop, keep;

	for (uint32_t at = off; at < end; at = stop) {
		stop = b2f_record_page_end(at, end);
		keep = (uint32_t)b2f_min_u64(b2f_max_u64(at, rec->base_limit),
					     stop);
		if (b2f_record_has(rec, at / B2F_PAGE))
			memcpy(data + (at - off), rec->data + at, stop - at);
		else
			memset(data + (keep - off), 0, stop - keep);
	}
}
