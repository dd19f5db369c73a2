/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_map.c - from a position in the data to a chunk
 *
 * Usually all chunks but the last have one size, and division does.  Frames
 * with chunks of different sizes, and frames whose short chunk was moved from
 * the end (C-Blosc2's reorder does that), need the sum of the sizes before.
 * These stand in the chunks' own headers.
 *
 * A chunk whose size nobody knows (its file is gone; or it is an index entry
 * in a variable frame, which has no size) hides the places of its neighbours:
 * from the first such chunk on, counting from the front stops; up to the last
 * one, counting from the end still works, as the total is known.  If there is
 * just one, its size follows from the total.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/log.h"
#include "frame/frame.h"

#define SIZE_UNKNOWN UINT64_MAX

static bool is_fixed(const struct b2f_frame *f)
{
	return f->header.chunksize > 0;
}

static bool is_special(const struct b2f_frame *f, uint64_t nchunk)
{
	return b2f_entries_get(&f->entries, nchunk).special;
}

/* Decoded bytes of @nchunk if only the last chunk is short. */
static uint64_t size_by_division(const struct b2f_frame *f, uint64_t nchunk)
{
	uint64_t chunksize = (uint32_t)f->header.chunksize;

	return b2f_min_u64(chunksize, f->header.nbytes - nchunk * chunksize);
}

/* True if the last chunk is as short as it should be, or cannot be asked. */
static bool last_is_short(struct b2f_frame *f)
{
	uint64_t last = f->entries.n - 1;
	struct b2f_chunk_header h;

	if (f->header.nbytes % (uint32_t)f->header.chunksize == 0)
		return true;
	if (is_special(f, last))
		return true;
	if (b2f_frame_chunk_header(f, last, &h, NULL))
		return true;
	return h.nbytes == size_by_division(f, last);
}

static uint64_t size_of_chunk(struct b2f_frame *f, uint64_t nchunk)
{
	struct b2f_chunk_header h;
	struct b2f_why why = {""};
	int err;

	if (is_special(f, nchunk))
		return SIZE_UNKNOWN;
	err = b2f_frame_chunk_header(f, nchunk, &h, &why);
	if (err) {
		b2f_frame_report_chunk(f, nchunk, -1, err, &why);
		return SIZE_UNKNOWN;
	}
	return h.nbytes;
}

/*
 * In a frame of fixed chunks every special one is likely to be whole; but only
 * if that gives the total they are taken for it, as the short one may be among
 * them.
 */
static void guess_specials(const struct b2f_frame *f, uint64_t *sizes)
{
	uint64_t size = (uint32_t)f->header.chunksize, total = 0;

	for (uint64_t i = 0; i < f->entries.n; i++) {
		uint64_t add = is_special(f, i) ? size : sizes[i];

		if (add == SIZE_UNKNOWN || !b2f_add_u64(total, add, &total))
			return;
	}
	if (total != f->header.nbytes)
		return;
	for (uint64_t i = 0; i < f->entries.n; i++)
		if (is_special(f, i))
			sizes[i] = size;
}

/* Sums up from the front; returns the first chunk of unknown size, or n. */
static uint64_t sum_forward(struct b2f_frame *f, uint64_t *sizes)
{
	uint64_t n = f->entries.n, at = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t size = sizes[i];

		sizes[i] = at;
		if (size == SIZE_UNKNOWN) {
			sizes[i] = at;
			return i;
		}
		if (!b2f_add_u64(at, size, &at))
			return i;
	}
	sizes[n] = at;
	return n;
}

/*
 * Turns sizes[@from + 1 ..] into starts, counted from the end; returns the last
 * chunk of unknown size.
 */
static uint64_t sum_backward(struct b2f_frame *f, uint64_t *sizes,
			     uint64_t from)
{
	uint64_t at = f->header.nbytes, i;

	sizes[f->entries.n] = at;
	for (i = f->entries.n - 1; i > from; i--) {
		if (sizes[i] == SIZE_UNKNOWN || sizes[i] > at)
			break;
		at -= sizes[i];
		sizes[i] = at;
	}
	return i;
}

/* True if every chunk has the fixed size, except the last one. */
static bool only_last_differs(const struct b2f_frame *f, const uint64_t *starts)
{
	uint64_t last = f->entries.n - 1;

	return is_fixed(f) &&
	       starts[last] == last * (uint32_t)f->header.chunksize;
}

static int check_sum(struct b2f_frame *f, const uint64_t *starts)
{
	struct b2f_why why;

	if (starts[f->entries.n] == f->header.nbytes)
		return 0;
	b2f_why_set(&why, B2F_ECORRUPT,
		    "its chunks have %llu bytes, its index says %llu",
		    (unsigned long long)starts[f->entries.n],
		    (unsigned long long)f->header.nbytes);
	return b2f_frame_report(f, B2F_ECORRUPT, &why);
}

/*
 * What is known at the front and at the end must not overlap; and if just one
 * chunk is between them, it has what is left, if that can be.
 */
static int check_gap(struct b2f_frame *f, const uint64_t *starts,
		     const struct b2f_frame_map *map)
{
	uint64_t from = starts[map->first_unknown];
	uint64_t to = starts[map->last_unknown + 1];
	uint64_t limit = B2F_CHUNK_NBYTES_MAX;
	struct b2f_why why;

	if (is_fixed(f))
		limit = (uint32_t)f->header.chunksize;
	if (map->first_unknown < map->last_unknown)
		limit = UINT64_MAX;
	if (to >= from && to - from <= limit)
		return 0;
	b2f_why_set(&why, B2F_ECORRUPT,
		    "the sizes of its chunks do not add up to %llu",
		    (unsigned long long)f->header.nbytes);
	return b2f_frame_report(f, B2F_ECORRUPT, &why);
}

static int make_table(struct b2f_frame *f, struct b2f_frame_map *map)
{
	uint64_t n = f->entries.n;
	/* Sizes first, which turn into starts in place. */
	uint64_t *starts = malloc((n + 1) * sizeof(*starts));
	int err;

	if (!starts)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		starts[i] = size_of_chunk(f, i);
	if (is_fixed(f))
		guess_specials(f, starts);
	map->first_unknown = map->last_unknown = sum_forward(f, starts);
	if (map->first_unknown == n && only_last_differs(f, starts)) {
		/* The places are sure; the last chunk will say its error. */
		free(starts);
		return 0;
	}
	if (map->first_unknown == n) {
		err = check_sum(f, starts);
	} else {
		map->last_unknown = sum_backward(f, starts, map->first_unknown);
		err = check_gap(f, starts, map);
	}
	if (err)
		free(starts);
	else
		map->starts = starts;
	return err;
}

static int make_map(struct b2f_frame *f)
{
	int err = 0;

	if (!is_fixed(f) || !last_is_short(f))
		err = make_table(f, &f->map);
	return err;
}

/*
 * Sizes that contradict each other do so for good; that is remembered, or each
 * chunk would have all heads read again.  Other errors may pass.
 */
static bool is_final(int err)
{
	return err == 0 || err == B2F_ECORRUPT;
}

static int need_map(struct b2f_frame *f)
{
	int err = 0;

	if (atomic_load_explicit(&f->map_ready, memory_order_acquire))
		return f->map_err;
	pthread_mutex_lock(&f->map_lock);
	if (atomic_load_explicit(&f->map_ready, memory_order_relaxed)) {
		err = f->map_err;
	} else {
		err = make_map(f);
		f->map_err = err;
		if (is_final(err))
			atomic_store_explicit(&f->map_ready, true,
					      memory_order_release);
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
		    (unsigned long long)f->map.first_unknown,
		    (unsigned long long)f->map.last_unknown);
	return b2f_frame_report(f, B2F_ECORRUPT, &why);
}

static bool is_hidden(const struct b2f_frame_map *map, uint64_t nchunk)
{
	return map->first_unknown < map->last_unknown &&
	       nchunk >= map->first_unknown && nchunk <= map->last_unknown;
}

static void span_by_division(const struct b2f_frame *f, uint64_t nchunk,
			     struct b2f_frame_span *out)
{
	out->nchunk = nchunk;
	out->start = nchunk * (uint32_t)f->header.chunksize;
	out->nbytes = size_by_division(f, nchunk);
}

static int span_by_table(const struct b2f_frame *f, uint64_t nchunk,
			 struct b2f_frame_span *out)
{
	const uint64_t *starts = f->map.starts;

	if (is_hidden(&f->map, nchunk))
		return hidden(f);
	out->nchunk = nchunk;
	out->start = starts[nchunk];
	out->nbytes = starts[nchunk + 1] - starts[nchunk];
	return 0;
}

/* The last chunk in [@lo, @hi) that begins at or before @off. */
static uint64_t search(const uint64_t *starts, uint64_t lo, uint64_t hi,
		       uint64_t off)
{
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (starts[mid] <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static int locate_by_table(const struct b2f_frame *f, uint64_t off,
			   struct b2f_frame_span *out)
{
	const struct b2f_frame_map *map = &f->map;
	uint64_t n = f->entries.n;

	if (map->first_unknown >= map->last_unknown)
		return span_by_table(f, search(map->starts, 0, n, off), out);
	if (off < map->starts[map->first_unknown])
		return span_by_table(
			f, search(map->starts, 0, map->first_unknown, off),
			out);
	if (off < map->starts[map->last_unknown + 1])
		return hidden(f);
	return span_by_table(
		f, search(map->starts, map->last_unknown + 1, n, off), out);
}

int b2f_frame_locate(struct b2f_frame *frame, uint64_t off,
		     struct b2f_frame_span *out)
{
	int err = need_map(frame);

	if (err)
		return err;
	if (frame->map.starts)
		return locate_by_table(frame, off, out);
	span_by_division(frame, off / (uint32_t)frame->header.chunksize, out);
	return 0;
}

int b2f_frame_span_get(struct b2f_frame *frame, uint64_t nchunk,
		       struct b2f_frame_span *out)
{
	int err = need_map(frame);

	if (err)
		return err;
	if (frame->map.starts)
		return span_by_table(frame, nchunk, out);
	span_by_division(frame, nchunk, out);
	return 0;
}
