/* SPDX-License-Identifier: BSD-3-Clause */
/* dirty.c - chunks that were written to and are not encoded yet */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "file/writer.h"

/* Room for smaller chunks comes from the heap, with old data or not. */
#define SMALL_ROOM (64u << 10)

static bool is_small(const struct b2f_dirty *d)
{
	return d->room <= SMALL_ROOM;
}

static uint32_t count_pages(uint32_t nbytes)
{
	return nbytes / B2F_PAGE + (nbytes % B2F_PAGE != 0);
}

static int alloc_data(struct b2f_dirty *d)
{
	void *data;

	d->is_whole = true;
	if (is_small(d)) {
		d->data = calloc(1, d->room);
		return d->data ? 0 : -ENOMEM;
	}
	d->data = b2f_budget_spare_get(d->file->runtime, d->room);
	if (d->data)
		return 0;
	d->is_whole = false;
	data = mmap(NULL, d->room, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED)
		return -ENOMEM;
	d->data = data;
	return 0;
}

void b2f_dirty_unmap(uint8_t *data, uint32_t room)
{
	munmap(data, room);
}

static void free_data(struct b2f_dirty *d)
{
	/* Another one would be in memory in part, and nobody knows of which. */
	bool may_spare = d->is_whole || b2f_dirty_is_full(d, d->room);

	if (is_small(d))
		free(d->data);
	else if (d->data &&
		 !(may_spare &&
		   b2f_budget_spare_put(d->file->runtime, d->data, d->room)))
		b2f_dirty_unmap(d->data, d->room);
}

void b2f_dirty_ref(struct b2f_dirty *d)
{
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
}

void b2f_dirty_unref(struct b2f_dirty *d)
{
	if (!d ||
	    atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1)
		return;
	free_data(d);
	free(d->valid);
	pthread_rwlock_destroy(&d->lock);
	free(d);
}

struct b2f_dirty *b2f_dirty_find(const struct b2f_writer *w, uint64_t nchunk)
{
	struct b2f_dirty *d;

	HASH_FIND(hh, w->dirty, &nchunk, sizeof(nchunk), d);
	return d;
}

/* A record of chunk @nchunk of the working state, without any page. */
static struct b2f_dirty *new_dirty(struct b2f_file *file, uint64_t nchunk)
{
	struct b2f_edit *edit = file->writer->edit;
	uint32_t npages, room = (uint32_t)edit->header.chunksize;
	struct b2f_dirty *d = calloc(1, sizeof(*d));

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
	if (!d->valid || alloc_data(d)) {
		b2f_dirty_unref(d);
		return NULL;
	}
	return d;
}

int b2f_dirty_get(struct b2f_file *file, uint64_t nchunk, bool make,
		  struct b2f_dirty **out)
{
	struct b2f_writer *w = file->writer;
	struct b2f_dirty *d;

	for (;;) {
		d = b2f_dirty_find(w, nchunk);
		if (!d || d->state != B2F_DIRTY_BUSY)
			break;
		pthread_cond_wait(&w->changed, &file->lock);
	}
	if (!d && make) {
		d = new_dirty(file, nchunk);
		if (!d)
			return -ENOMEM;
		HASH_ADD(hh, w->dirty, nchunk, sizeof(d->nchunk), d);
	}
	*out = d;
	return 0;
}

void b2f_dirty_remove(struct b2f_dirty *d)
{
	HASH_DEL(d->file->writer->dirty, d);
	if (d->listed)
		b2f_budget_leave(d);
	/* Now, not when the last reader has it: a writer may wait for these. */
	b2f_budget_drop(d, d->bytes);
	b2f_dirty_unref(d);
}

static void set_valid(struct b2f_dirty *d, uint32_t page)
{
	d->valid[page / 64] |= UINT64_C(1) << (page % 64);
	d->nvalid++;
}

/* Bytes of @page that are within the room. */
static uint32_t page_size(const struct b2f_dirty *d, uint32_t page)
{
	return (uint32_t)b2f_min_u64(B2F_PAGE, d->room - page * B2F_PAGE);
}

/* The first write to @page: what was there before, at the edges. */
static void begin_page(struct b2f_dirty *d, uint32_t page,
		       const uint8_t *before)
{
	uint8_t *dst = d->data + (size_t)page * B2F_PAGE;

	if (before)
		memcpy(dst, before, page_size(d, page));
	set_valid(d, page);
}

void b2f_dirty_write(struct b2f_dirty *d, uint32_t start, const uint8_t *buf,
		     uint32_t size, const struct b2f_dirty_edges *edges)
{
	uint32_t first = start / B2F_PAGE, last = (start + size - 1) / B2F_PAGE;

	pthread_rwlock_wrlock(&d->lock);
	for (uint32_t page = first; page <= last; page++) {
		const uint8_t *before = NULL;

		if (b2f_dirty_has(d, page))
			continue;
		if (edges && page == last && edges->has[1])
			before = edges->page[1];
		else if (edges && page == first && edges->has[0])
			before = edges->page[0];
		begin_page(d, page, before);
	}
	memcpy(d->data + start, buf, size);
	pthread_rwlock_unlock(&d->lock);
}

uint64_t b2f_dirty_cost(const struct b2f_dirty *d, uint32_t npages)
{
	if (d->is_whole)
		npages = d->bytes ? 0 : count_pages(d->room);
	return (uint64_t)npages * B2F_PAGE;
}

void b2f_dirty_count(struct b2f_dirty *d, uint64_t bytes)
{
	b2f_budget_add(d, bytes);
	if (d->bytes && !d->listed) {
		d->listed = true;
		b2f_budget_enter(d);
	}
}

void b2f_dirty_cut(struct b2f_dirty *d, uint32_t size)
{
	uint32_t page = size / B2F_PAGE;
	uint64_t freed = 0;

	d->base_limit = (uint32_t)b2f_min_u64(d->base_limit, size);
	pthread_rwlock_wrlock(&d->lock);
	/* What is cut off must not come back when the file grows again. */
	if (size % B2F_PAGE && b2f_dirty_has(d, page))
		memset(d->data + size, 0, page_size(d, page) - size % B2F_PAGE);
	for (page += size % B2F_PAGE != 0; page < count_pages(d->room);
	     page++) {
		if (!b2f_dirty_has(d, page))
			continue;
		d->valid[page / 64] &= ~(UINT64_C(1) << (page % 64));
		d->nvalid--;
		freed += d->is_whole ? 0 : B2F_PAGE;
	}
	pthread_rwlock_unlock(&d->lock);
	b2f_budget_drop(d, b2f_min_u64(freed, d->bytes));
}

bool b2f_dirty_is_full(const struct b2f_dirty *d, uint32_t nbytes)
{
	return d->nvalid >= count_pages(nbytes);
}
