/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_map.c - from a position in the data to a chunk */
#include "base/checked.h"
#include "base/sorted.h"
#include "base/waiting.h"
#include "frame/frame.h"
#include "frame/frame_report.h"

/* A chunk, by its number or by a byte of it. */
struct wanted {
	bool is_number;
	uint64_t at;
};

/* Is @w among the first @n chunks, whose starts are known? */
static bool is_below(const struct b2f_frame_map *map, uint64_t n,
		     const struct wanted *w)
{
	if (n == 0)
		return false;
	return w->at < (w->is_number ? n : map->starts[n]);
}

static bool is_ready(const struct b2f_frame_map *map, const struct wanted *w)
{
	switch (b2f_frame_map_state(map)) {
	case B2F_MAP_NONE:
		return false;
	case B2F_MAP_GROWS:
		return is_below(map, b2f_frame_map_nknown(map), w);
	case B2F_MAP_DIVIDES:
	case B2F_MAP_DONE:
		break;
	}
	return true;
}

/* Has the map made as far as @w needs it. */
static int need(struct b2f_frame *f, const struct wanted *w)
{
	int err = 0;

	if (is_ready(&f->map, w))
		return 0;
	pthread_mutex_lock(&f->map_lock);
	while (!err && !is_ready(&f->map, w)) {
		if (f->map_busy) {
			if (!b2f_waiting_wait(&f->map_grown, &f->map_lock))
				err = -EINTR;
			continue;
		}
		f->map_busy = true;
		pthread_mutex_unlock(&f->map_lock);
		err = b2f_frame_map_grow(f);
		pthread_mutex_lock(&f->map_lock);
		f->map_busy = false;
		pthread_cond_broadcast(&f->map_grown);
	}
	pthread_mutex_unlock(&f->map_lock);
	return err;
}

static int hidden(const struct b2f_frame *f)
{
	struct b2f_why why;

	b2f_why_set(&why, B2F_ECORRUPT,
		    "chunks %llu to %llu cannot be found: their sizes are "
		    "not known",
		    (unsigned long long)b2f_frame_map_nknown(&f->map),
		    (unsigned long long)f->map.tail - 1);
	return b2f_frame_report(f, B2F_ECORRUPT, &why);
}

/* Finds @w where only the last chunk is short. */
static void span_by_division(const struct b2f_frame *f, const struct wanted *w,
			     struct b2f_frame_span *out)
{
	uint64_t chunksize = (uint32_t)f->header.chunksize;

	out->nchunk = w->is_number ? w->at : w->at / chunksize;
	out->start = out->nchunk * chunksize;
	out->nbytes = b2f_min_u64(chunksize, f->header.nbytes - out->start);
}

/* Finds @w among the chunks [@lo, @hi). */
static void span_by_table(const struct b2f_frame *f, uint64_t lo, uint64_t hi,
			  const struct wanted *w, struct b2f_frame_span *out)
{
	const uint64_t *starts = f->map.starts;
	uint64_t i = w->at;

	if (!w->is_number)
		i = lo + b2f_search_u64(starts + lo, hi - lo, w->at);
	out->nchunk = i;
	out->start = starts[i];
	out->nbytes = starts[i + 1] - starts[i];
}

static int find(struct b2f_frame *f, const struct wanted *w,
		struct b2f_frame_span *out)
{
	const struct b2f_frame_map *map = &f->map;
	uint64_t nknown;
	int err = need(f, w);

	if (err)
		return err;
	if (b2f_frame_map_state(map) == B2F_MAP_DIVIDES) {
		span_by_division(f, w, out);
		return 0;
	}
	nknown = b2f_frame_map_nknown(map);
	if (is_below(map, nknown, w)) {
		span_by_table(f, 0, nknown, w, out);
		return 0;
	}
	if (map->err)
		return map->err;
	if (is_below(map, map->tail, w))
		return hidden(f);
	span_by_table(f, map->tail, f->entries.n, w, out);
	return 0;
}

int b2f_frame_locate(struct b2f_frame *frame, uint64_t off,
		     struct b2f_frame_span *out)
{
	return find(frame, &(struct wanted){.at = off}, out);
}

int b2f_frame_span_get(struct b2f_frame *frame, uint64_t nchunk,
		       struct b2f_frame_span *out)
{
	return find(frame, &(struct wanted){.is_number = true, .at = nchunk},
		    out);
}

bool b2f_frame_may_seal(const struct b2f_frame *frame, const uint64_t *raw,
			uint64_t n)
{
	bool moved = frame->header.chunksize > 0 && frame->map.starts;

	return !moved || n == 0 || b2f_entry_tag(raw[n - 1]);
}

bool b2f_frame_hides_short_chunk(const struct b2f_frame *frame)
{
	uint64_t n = frame->entries.n;

	return frame->header.chunksize > 0 && frame->map.starts && n > 0 &&
	       b2f_entries_get(&frame->entries, n - 1).special;
}
