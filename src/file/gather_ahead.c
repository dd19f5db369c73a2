/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather_ahead.c - decodes ahead of a reader of an array in C order
 *
 * A row crosses many chunks and needs few blocks of each, and the rows behind
 * it need the same ones: so the unit of readahead is the block here.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "file/gather.h"
#include "file/record.h"

/* Decoded bytes of blocks that one job is worth. */
#define JOB_BYTES (256u << 10)

struct ahead_cells {
	struct b2f_job job;
	/* Holds a reference. */
	struct b2f_file *file;
	/* Version of the frame of the cells. */
	uint64_t version;
	/* The box they are of: items [@item, @end). */
	uint64_t item;
	uint64_t end;
	/* The first of them, and how many. */
	uint64_t first;
	uint64_t n;
	/* Bytes that it added to runtime.ahead_bytes. */
	uint64_t nbytes;
};

/* Decodes the units of the block that @cell is in, as far as it is stored. */
static void decode_block(const struct b2f_reading *r,
			 const struct b2f_array_cell *cell)
{
	uint64_t start = cell->nchunk * (uint32_t)r->frame->header.chunksize;
	struct b2f_source src;

	if (b2f_reading_find(r, start + cell->block_off, &src))
		return;
	b2f_record_unref(src.record);
	if (!src.record && !src.is_zeros && src.size >= cell->block_nbytes)
		(void)b2f_unit_load(r, &src, cell->block_off,
				    cell->block_off + cell->block_nbytes,
				    false);
}

static void decode_cells(const struct ahead_cells *a)
{
	struct b2f_array_cells cells;
	struct b2f_array_cell cell;
	struct b2f_reading r;

	b2f_reading_begin(a->file, &r);
	r.in_order = true;
	if (r.version == a->version) {
		b2f_array_cells_of(&r.frame->array, a->item, a->end, &cells);
		for (uint64_t i = 0; i < a->n; i++) {
			b2f_array_cell_get(&cells, a->first + i, &cell);
			decode_block(&r, &cell);
		}
	}
	b2f_reading_end(&r);
}

static void run_ahead(struct b2f_job *job, bool cancelled)
{
	struct ahead_cells *a = (struct ahead_cells *)job;

	if (!cancelled)
		decode_cells(a);
	atomic_fetch_sub(&a->file->runtime->ahead_bytes, a->nbytes);
	b2f_file_unref(a->file);
	free(a);
}

/* Queues cells of the box @like; false if there is no room for more. */
static bool queue_cells(const struct ahead_cells *like, uint64_t first,
			uint64_t n, uint64_t nbytes)
{
	struct b2f_runtime *rt = like->file->runtime;
	struct ahead_cells *a;

	if (atomic_load(&rt->ahead_bytes) + nbytes > rt->ahead_max)
		return false;
	a = malloc(sizeof(*a));
	if (!a)
		return false;
	*a = *like;
	a->first = first;
	a->n = n;
	a->nbytes = nbytes;
	b2f_file_ref(a->file);
	atomic_fetch_add(&rt->ahead_bytes, nbytes);
	b2f_pool_submit(rt->pool, B2F_POOL_AHEAD, &a->job);
	return true;
}

static bool queue_box(const struct ahead_cells *like,
		      const struct b2f_array_cells *cells)
{
	const struct b2f_array *a = cells->array;
	uint64_t block = a->block_items * a->itemsize;
	uint64_t n = b2f_max_u64(1, JOB_BYTES / b2f_max_u64(1, block));
	bool more = true;

	for (uint64_t i = 0; i < cells->n && more; i += n) {
		uint64_t some = b2f_min_u64(n, cells->n - i);

		more = queue_cells(like, i, some, some * block);
	}
	return more;
}

void b2f_gather_ahead(const struct b2f_reading *r, uint64_t start, uint64_t end)
{
	const struct b2f_array *a = &r->frame->array;
	uint64_t head = r->frame->layout.head_len;
	uint64_t item, last;
	struct ahead_cells like = {
		.job.run = run_ahead,
		.file = r->file,
		.version = r->version,
	};
	bool more = true;

	if (end <= head)
		return;
	item = (start > head ? start - head : 0) / a->itemsize;
	last = b2f_div_up_u64(end - head, a->itemsize);
	while (item < last && more) {
		struct b2f_array_cells cells;

		like.item = item;
		like.end = last;
		b2f_array_cells_of(a, item, last, &cells);
		more = queue_box(&like, &cells);
		item += cells.nitems;
	}
}
