/* SPDX-License-Identifier: BSD-3-Clause */
/* record.c - chunks that were written to and are not encoded yet */
#include "file/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "file/writer.h"

static uint32_t count_pages(uint32_t nbytes)
{
	return nbytes / B2F_PAGE + (nbytes % B2F_PAGE != 0);
}

void b2f_record_unref(struct b2f_record *d)
{
	if (!d ||
	    atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1)
		return;
	b2f_idle_put_pages(&d->file->runtime->idle, d->data, d->room,
			   d->in_memory || b2f_record_is_full(d, d->room));
	free(d->valid);
	pthread_rwlock_destroy(&d->lock);
	free(d);
}

struct b2f_record *b2f_record_find(const struct b2f_writer *w, uint64_t nchunk)
{
	struct b2f_record *d;

	HASH_FIND(hh, w->records, &nchunk, sizeof(nchunk), d);
	return d;
}

/* A record of chunk @nchunk of the working state, without any page. */
static struct b2f_record *new_record(struct b2f_file *file, uint64_t nchunk)
{
	struct b2f_edit *edit = file->writer->edit;
	uint32_t npages, room = (uint32_t)edit->header.chunksize;
	struct b2f_record *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	npages = count_pages(room);
	atomic_init(&d->refs, 1);
	pthread_rwlock_init(&d->lock, NULL);
	d->file = file;
	d->nchunk = nchunk;
	d->room = room;
	d->base_raw = edit->working.raw[nchunk];
	d->base_nbytes =
		b2f_edit_chunk_nbytes(edit, nchunk, edit->working.nbytes);
	d->base_limit = d->base_nbytes;
	if (d->base_raw == b2f_entry_raw(B2F_SPECIAL_ZEROS))
		d->base_limit = 0;
	d->valid = calloc(npages / 64 + 1, sizeof(*d->valid));
	d->data = b2f_idle_get_pages(&file->runtime->idle, room, &d->in_memory);
	if (!d->valid || !d->data) {
		b2f_record_unref(d);
		return NULL;
	}
	return d;
}

int b2f_record_get(struct b2f_file *file, uint64_t nchunk, bool make,
		   struct b2f_record **out)
{
	struct b2f_writer *w = file->writer;
	struct b2f_record *d;

	for (;;) {
		d = b2f_record_find(w, nchunk);
		if (!d || d->state != B2F_RECORD_BUSY)
			break;
		pthread_cond_wait(&w->changed, &file->lock);
	}
	if (!d && make) {
		d = new_record(file, nchunk);
		if (!d)
			return -ENOMEM;
		HASH_ADD(hh, w->records, nchunk, sizeof(d->nchunk), d);
	}
	*out = d;
	return 0;
}

void b2f_record_remove(struct b2f_record *d)
{
	HASH_DEL(d->file->writer->records, d);
	/* Now, not when the last reader has it: a writer may wait for these. */
	b2f_budget_remove(d);
	b2f_record_unref(d);
}

void b2f_record_remove_from(struct b2f_writer *w, uint64_t first)
{
	struct b2f_record *d, *next;

	HASH_ITER(hh, w->records, d, next)
	if (d->nchunk >= first)
		b2f_record_remove(d);
}

static void set_valid(struct b2f_record *d, uint32_t page)
{
	d->valid[page / 64] |= UINT64_C(1) << (page % 64);
	d->nvalid++;
}

/* Bytes of @page that are within the room. */
static uint32_t page_size(const struct b2f_record *d, uint32_t page)
{
	return (uint32_t)b2f_min_u64(B2F_PAGE, d->room - page * B2F_PAGE);
}

/* The first write to @page: what was there before, at the edges. */
static void begin_page(struct b2f_record *d, uint32_t page,
		       const uint8_t *before)
{
	uint8_t *dst = d->data + (size_t)page * B2F_PAGE;

	if (before)
		memcpy(dst, before, page_size(d, page));
	set_valid(d, page);
}

void b2f_record_write(struct b2f_record *d, uint32_t start, const uint8_t *buf,
		      uint32_t size, const struct b2f_record_edges *edges)
{
	uint32_t first = start / B2F_PAGE, last = (start + size - 1) / B2F_PAGE;

	pthread_rwlock_wrlock(&d->lock);
	for (uint32_t page = first; page <= last; page++) {
		const uint8_t *before = NULL;

		if (b2f_record_has(d, page))
			continue;
		if (page == last && edges->has[1])
			before = edges->page[1];
		else if (page == first && edges->has[0])
			before = edges->page[0];
		begin_page(d, page, before);
	}
	memcpy(d->data + start, buf, size);
	pthread_rwlock_unlock(&d->lock);
}

uint64_t b2f_record_cost(const struct b2f_record *d, uint32_t npages)
{
	if (d->in_memory)
		npages = d->bytes ? 0 : count_pages(d->room);
	return (uint64_t)npages * B2F_PAGE;
}

void b2f_record_cut(struct b2f_record *d, uint32_t size)
{
	uint32_t page = size / B2F_PAGE;
	uint64_t freed = 0;

	d->base_limit = (uint32_t)b2f_min_u64(d->base_limit, size);
	pthread_rwlock_wrlock(&d->lock);
	/* What is cut off must not come back when the file grows again. */
	if (size % B2F_PAGE && b2f_record_has(d, page))
		memset(d->data + size, 0, page_size(d, page) - size % B2F_PAGE);
	for (page += size % B2F_PAGE != 0; page < count_pages(d->room);
	     page++) {
		if (!b2f_record_has(d, page))
			continue;
		d->valid[page / 64] &= ~(UINT64_C(1) << (page % 64));
		d->nvalid--;
		freed += d->in_memory ? 0 : B2F_PAGE;
	}
	pthread_rwlock_unlock(&d->lock);
	b2f_budget_drop(d, b2f_min_u64(freed, d->bytes));
}

bool b2f_record_is_full(const struct b2f_record *d, uint32_t nbytes)
{
	return d->nvalid >= count_pages(nbytes);
}

void b2f_record_overlay(const struct b2f_record *d, uint32_t off, uint32_t size,
			uint8_t *data)
{
	uint32_t end = off + size, stop, keep;

	for (uint32_t at = off; at < end; at = stop) {
		stop = b2f_record_page_end(at, end);
		keep = (uint32_t)b2f_min_u64(b2f_max_u64(at, d->base_limit),
					     stop);
		if (b2f_record_has(d, at / B2F_PAGE))
			memcpy(data + (at - off), d->data + at, stop - at);
		else
			memset(data + (keep - off), 0, stop - keep);
	}
}
