/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holes.c - limits the memory for the entries of holes
 *
 * A hole takes no byte on disk, but its entry takes memory as long as the file
 * is writable, and one ftruncate(2) makes millions of holes.  Entries of holes
 * are counted, for all files together, and the cache shrinks by as much.  Only
 * writers that make holes are ever refused.
 *
 * Counting looks at every entry, so it is done only when a file has grown by an
 * eighth since the last time; until then, new holes are not counted.
 */
#include "base/checked.h"
#include "base/log_line.h"
#include "file/writer.h"

/*
 * Entries of four kinds: of the committed state, the working state, the state
 * that is being committed, and its new index.
 */
#define HOLE_BYTES (4 * sizeof(uint64_t))

/* A single file may have this much, however small the cache is. */
#define ALONE_MAX ((uint64_t)32 << 20)

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

/*
 * Counts @nholes for @w if there is room; with @alone, up to ALONE_MAX bytes
 * always fit if no other file counts.
 */
static bool take(struct b2f_runtime *rt, struct b2f_writer *w, uint64_t nholes,
		 bool alone)
{
	uint64_t bytes = nholes > NHOLES_FREE ? nholes * HOLE_BYTES : 0, others;
	bool has_room;

	pthread_mutex_lock(&rt->budget.lock);
	others = rt->budget.hole_bytes - w->hole_bytes;
	has_room = bytes <= w->hole_bytes ||
		   others + bytes <= rt->budget.hole_max ||
		   (alone && others == 0 && bytes <= ALONE_MAX);
	if (has_room) {
		rt->budget.hole_bytes += bytes - w->hole_bytes;
		w->hole_bytes = bytes;
		b2f_cache_reserve(rt->cache, rt->budget.hole_bytes);
	}
	pthread_mutex_unlock(&rt->budget.lock);
	return has_room;
}

int b2f_holes_grow(struct b2f_file *file, uint64_t n)
{
	struct b2f_writer *w = file->writer;
	uint64_t now = w->txn->working.n;
	uint64_t step = b2f_max_u64(NHOLES_FREE, w->ncounted / GROWTH_SHARE);

	if (n <= now || n - b2f_min_u64(n, w->ncounted) <= step)
		return 0;
	if (!take(file->runtime, w, count_holes(w) + (n - now), false)) {
		b2f_log(file->frame->log, B2F_LOG_WARNING,
			"%s: not extended: the holes of open files would take "
			"more memory than cachesize",
			file->frame->label);
		return B2F_ETOOBIG;
	}
	w->ncounted = n;
	return 0;
}

void b2f_holes_cut(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;

	if (w->txn->working.n > w->ncounted / 2)
		return;
	w->ncounted = w->txn->working.n;
	/* There is room: the file was longer before. */
	(void)take(file->runtime, w, count_holes(w), false);
}

int b2f_holes_open(struct b2f_runtime *rt, struct b2f_writer *w,
		   const struct b2f_frame *frame)
{
	const struct b2f_entries *entries = &frame->entries;
	/* Entries that are all the same (without @raw) take no memory. */
	uint64_t n = entries->raw ? entries->nspecial : entries->n;

	w->ncounted = entries->n;
	if (take(rt, w, n, true))
		return 0;
	b2f_log(frame->log, B2F_LOG_WARNING,
		"%s: not opened for writing: the holes of open files would "
		"take more memory than cachesize",
		frame->label);
	return -ENOMEM;
}

void b2f_holes_close(struct b2f_runtime *rt, struct b2f_writer *w)
{
	pthread_mutex_lock(&rt->budget.lock);
	rt->budget.hole_bytes -= w->hole_bytes;
	w->hole_bytes = 0;
	b2f_cache_reserve(rt->cache, rt->budget.hole_bytes);
	pthread_mutex_unlock(&rt->budget.lock);
}
