/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holes.c - limits the memory for the entries of files that are written to
 *
 * A hole takes no byte on disk, but its entry takes memory as long as the file
 * is writable, and one ftruncate(2) makes millions of holes.  An index that was
 * made to be large takes as much.  So holes, and entries that a frame has when
 * it becomes writable, are counted, for all files together, and the cache
 * shrinks by as much.  Data that are added later are never refused.
 *
 * Counting looks at every entry, so it is done only when a file has grown by an
 * eighth since the last time; until then, new holes are not counted.
 */
#include "base/checked.h"
#include "base/log_line.h"
#include "file/writer.h"

/*
 * Entries of three kinds: of the working state, the state that is being
 * committed, and its new index.  The frame counts those of the committed state.
 */
#define ENTRY_BYTES (3 * sizeof(uint64_t))

/* Fewer holes than these are not worth counting. */
#define NHOLES_FREE 4096

#define GROWTH_SHARE 8

/* Chunks of the working state that have neither a file nor a record. */
static uint64_t count_holes(const struct b2f_writer *w)
{
	const struct b2f_txn_state *state = &w->txn->working;
	uint64_t n = 0, nrecords = HASH_COUNT(w->records);

	for (uint64_t i = 0; i < state->n; i++)
		n += !b2f_txn_is_stored(b2f_txn_raw(state, i));
	return n - b2f_min_u64(n, nrecords);
}

/* Counts @nholes, and the entries that the frame of @w had. */
static int take(struct b2f_writer *w, uint64_t nholes)
{
	return b2f_reserve_set(&w->holes.reserved,
			       (nholes + w->holes.nfound) * ENTRY_BYTES);
}

int b2f_holes_grow(struct b2f_file *file, uint64_t n)
{
	struct b2f_writer *w = file->writer;
	uint64_t now = w->txn->working.n;
	uint64_t step =
		b2f_max_u64(NHOLES_FREE, w->holes.nchunks / GROWTH_SHARE);

	if (n <= now || n - b2f_min_u64(n, w->holes.nchunks) <= step)
		return 0;
	if (take(w, count_holes(w) + (n - now))) {
		b2f_log(file->frame->log, B2F_LOG_WARNING,
			"%s: not extended: the holes of open files would take "
			"more memory than cachesize",
			file->frame->label);
		return B2F_ETOOBIG;
	}
	w->holes.nchunks = n;
	return 0;
}

void b2f_holes_cut(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;

	if (w->txn->working.n > w->holes.nchunks / 2)
		return;
	w->holes.nchunks = w->txn->working.n;
	w->holes.nfound = b2f_min_u64(w->holes.nfound, w->holes.nchunks);
	/* There is room: the file was longer before. */
	(void)!take(w, count_holes(w));
}

int b2f_holes_open(struct b2f_runtime *rt, struct b2f_writer *w,
		   const struct b2f_frame *frame)
{
	const struct b2f_entries *entries = &frame->entries;
	/* Entries that are all the same (without @raw) take no memory. */
	uint64_t nholes = entries->raw ? entries->nspecial : entries->n;

	w->holes.reserved.of = b2f_cache_reserve(rt->cache);
	w->holes.nchunks = entries->n;
	w->holes.nfound = entries->n - nholes;
	/* Chunks of different sizes also have a table of their places. */
	if (frame->header.chunksize <= 0)
		w->holes.nfound += entries->n;
	if (!take(w, nholes))
		return 0;
	b2f_log(frame->log, B2F_LOG_WARNING,
		"%s: not opened for writing: the indexes of open files would "
		"take more memory than cachesize",
		frame->label);
	return -ENOMEM;
}

void b2f_holes_close(struct b2f_writer *w)
{
	(void)!b2f_reserve_set(&w->holes.reserved, 0);
}
