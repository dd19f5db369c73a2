/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_map_make.c - sizes of chunks, summed up from the front or the end */
#include <stdlib.h>

#include "base/checked.h"
#include "frame/frame.h"
#include "frame/frame_chunk.h"
#include "frame/frame_report.h"
#include "programs/repair.h"

#define SIZE_UNKNOWN UINT64_MAX

/* Headers that are read before waiting threads look again. */
#define STEP 64

static bool is_fixed(const struct b2f_frame *f)
{
	return f->header.chunksize > 0;
}

static bool is_special(const struct b2f_frame *f, uint64_t nchunk)
{
	return b2f_entries_get(&f->entries, nchunk).special;
}

/* An error that says nothing about the chunk: the next reader tries again. */
static bool is_passing(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE ||
	       err == -EINTR;
}

/*
 * Are the stored chunks where C-Blosc2 appended them?  If they are, only the
 * last one of them can be short.
 */
static bool is_in_order(const struct b2f_frame *f)
{
	uint64_t before = 0;

	for (uint64_t i = 0; i < f->entries.n; i++) {
		uint64_t raw = b2f_entries_raw(&f->entries, i), place;

		if (is_special(f, i))
			continue;
		place = f->header.sparse ? raw : b2f_frame_chunk_off(f, raw);
		if (place < before)
			return false;
		before = place;
	}
	return true;
}

/* Has a stored chunk the size @rest? */
static int find_short(struct b2f_frame *f, uint32_t rest, bool *found)
{
	bool in_order = is_in_order(f), done = false, sealed;
	uint32_t nbytes = 0;
	int err = 0;

	for (uint64_t i = f->entries.n; i-- > 0 && !done;) {
		if (is_special(f, i))
			continue;
		err = b2f_frame_chunk_nbytes(f, i, &nbytes, &sealed, NULL);
		*found = !err && nbytes == rest;
		done = in_order || *found || is_passing(err);
	}
	return is_passing(err) ? err : 0;
}

/*
 * Is the last chunk as short as it should be, or is its size unknown? Where the
 * index is sealed, a size counts only if its seal was checked: one false header
 * would give all other chunks wrong places.  A special chunk has no size of its
 * own; a sealed index has one at the end only if it is the short one.
 */
static int ask_last(struct b2f_frame *f, bool *is_short)
{
	uint64_t last = f->entries.n - 1;
	uint32_t rest = (uint32_t)(f->header.nbytes %
				   (uint32_t)f->header.chunksize);
	bool sealed = false, found = false;
	uint32_t nbytes = 0;
	int err;

	*is_short = true;
	if (rest == 0)
		return 0;
	if (is_special(f, last)) {
		err = f->sealed ? 0 : find_short(f, rest, &found);
		*is_short = !found;
		return err;
	}
	err = b2f_frame_chunk_nbytes(f, last, &nbytes, &sealed, NULL);
	if (!err && (sealed || !f->sealed))
		*is_short = nbytes == rest;
	return is_passing(err) ? err : 0;
}

/* Returns 0 or an error that passes; *@out may be SIZE_UNKNOWN. */
static int size_of_chunk(struct b2f_frame *f, uint64_t nchunk, uint64_t *out)
{
	struct b2f_why why = {""};
	uint32_t nbytes = 0;
	bool sealed = false;
	int err;

	*out = SIZE_UNKNOWN;
	if (is_special(f, nchunk))
		return 0;
	err = b2f_frame_chunk_nbytes(f, nchunk, &nbytes, &sealed, &why);
	if (err)
		b2f_frame_report_chunk(f, nchunk, err, &why);
	else
		*out = nbytes;
	return is_passing(err) ? err : 0;
}

/*
 * In a frame of fixed chunks one is short: special ones are whole if a stored
 * one is short, or if that gives the total.
 */
static void guess_specials(const struct b2f_frame *f, uint64_t *sizes)
{
	uint64_t size = (uint32_t)f->header.chunksize, total = 0;
	bool has_short = false;

	for (uint64_t i = 0; i < f->entries.n; i++) {
		uint64_t add = is_special(f, i) ? size : sizes[i];

		if (add == SIZE_UNKNOWN || !b2f_add_u64(total, add, &total))
			return;
		has_short |= add < size;
	}
	if (!has_short && total != f->header.nbytes)
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
		if (size == SIZE_UNKNOWN || !b2f_add_u64(at, size, &at))
			return i;
	}
	sizes[n] = at;
	return n;
}

/*
 * Finds the starts of the chunks behind @from, counted from the end; *@out is
 * the last one of unknown size.  In a frame of fixed chunks @starts holds the
 * sizes so far; in others the headers tell them.
 */
static int sum_backward(struct b2f_frame *f, uint64_t *starts, uint64_t from,
			uint64_t *out)
{
	uint64_t at = f->header.nbytes, size, i;
	int err = 0;

	starts[f->entries.n] = at;
	for (i = f->entries.n - 1; i > from; i--) {
		size = starts[i];
		if (!is_fixed(f))
			err = size_of_chunk(f, i, &size);
		if (err)
			return err;
		if (size == SIZE_UNKNOWN || size > at)
			break;
		at -= size;
		starts[i] = at;
	}
	*out = i;
	return 0;
}

/* True if every chunk has the fixed size, except the last one. */
static bool only_last_differs(const struct b2f_frame *f, const uint64_t *starts)
{
	uint64_t last = f->entries.n - 1;

	return is_fixed(f) &&
	       starts[last] == last * (uint32_t)f->header.chunksize;
}

static int wrong_sum(const struct b2f_frame *f, uint64_t sum)
{
	struct b2f_why why;

	b2f_why_set(&why, B2F_ECORRUPT,
		    "its chunks have %s%llu bytes, its index says %llu",
		    sum > f->header.nbytes ? "at least " : "",
		    (unsigned long long)sum,
		    (unsigned long long)f->header.nbytes);
	return b2f_frame_report(f, B2F_ECORRUPT, &why);
}

/*
 * The known chunks up to @first and behind @last must not overlap; a single
 * chunk between them has the rest of the size, if that is possible.
 */
static int check_gap(const struct b2f_frame *f, const uint64_t *starts,
		     uint64_t first, uint64_t last)
{
	uint64_t from = starts[first], to = starts[last + 1];
	uint64_t limit = B2F_CHUNK_NBYTES_MAX;
	struct b2f_why why;

	if (is_fixed(f))
		limit = (uint32_t)f->header.chunksize;
	if (first < last)
		limit = UINT64_MAX;
	if (to >= from && to - from <= limit)
		return 0;
	b2f_why_set(&why, B2F_ECORRUPT,
		    "the sizes of its chunks do not add up to %llu",
		    (unsigned long long)f->header.nbytes);
	return b2f_frame_report(f, B2F_ECORRUPT, &why);
}

static void set_known(struct b2f_frame_map *map, uint64_t nknown)
{
	atomic_store_explicit(&map->nknown, nknown, memory_order_release);
}

static void set_state(struct b2f_frame_map *map, enum b2f_map_state state)
{
	atomic_store_explicit(&map->state, state, memory_order_release);
}

/* Positions behind chunk @first, whose size is unknown, count from the end. */
static int count_back(struct b2f_frame *f, uint64_t *starts, uint64_t first)
{
	struct b2f_frame_map *map = &f->map;
	uint64_t last = first;
	int err = sum_backward(f, starts, first, &last);

	if (!err)
		err = check_gap(f, starts, first, last);
	if (err)
		return err;
	map->tail = last + 1;
	set_known(map, first == last ? f->entries.n : first);
	return 0;
}

/* A table for the starts of all chunks and the end of the last, or NULL. */
static uint64_t *new_starts(struct b2f_frame *f)
{
	uint64_t bytes = (f->entries.n + 1) * sizeof(uint64_t);
	uint64_t *starts;

	if (b2f_reserve_take(&f->reserved, bytes))
		return NULL;
	starts = malloc(bytes);
	if (!starts)
		b2f_reserve_give(&f->reserved, bytes);
	return starts;
}

static void free_starts(struct b2f_frame *f, uint64_t *starts)
{
	if (!starts)
		return;
	free(starts);
	b2f_reserve_give(&f->reserved, (f->entries.n + 1) * sizeof(*starts));
}

/* The whole table of a frame whose short chunk is not the last one. */
static int make_fixed(struct b2f_frame *f)
{
	uint64_t n = f->entries.n, first;
	/* Sizes first, which turn into starts in place. */
	uint64_t *starts = new_starts(f);
	int err = starts ? 0 : -ENOMEM;

	for (uint64_t i = 0; !err && i < n; i++)
		err = size_of_chunk(f, i, &starts[i]);
	if (err)
		goto out;
	guess_specials(f, starts);
	first = sum_forward(f, starts);
	if (first < n) {
		err = count_back(f, starts, first);
	} else if (only_last_differs(f, starts)) {
		/*
		 * The places are certain; reading the last chunk reports its
		 * error.
		 */
		free_starts(f, starts);
		set_state(&f->map, B2F_MAP_DIVIDES);
		return 0;
	} else if (starts[n] != f->header.nbytes) {
		err = wrong_sum(f, starts[n]);
	} else {
		set_known(&f->map, n);
	}
out:
	if (err)
		free_starts(f, starts);
	else
		f->map.starts = starts;
	if (is_passing(err))
		return err;
	f->map.err = err;
	set_state(&f->map, B2F_MAP_DONE);
	return 0;
}

/* Decides how places are found. */
static int begin(struct b2f_frame *f)
{
	bool is_short = false;
	int err;

	if (!is_fixed(f)) {
		f->map.starts = new_starts(f);
		if (!f->map.starts)
			return -ENOMEM;
		f->map.starts[0] = 0;
		set_state(&f->map, B2F_MAP_GROWS);
		return 0;
	}
	err = ask_last(f, &is_short);
	if (err)
		return err;
	if (!is_short)
		return make_fixed(f);
	set_state(&f->map, B2F_MAP_DIVIDES);
	return 0;
}

/* Counts on from the front; *@stuck: the next chunk has no size. */
static int extend(struct b2f_frame *f, bool *stuck)
{
	uint64_t *starts = f->map.starts;
	uint64_t i = atomic_load_explicit(&f->map.nknown, memory_order_relaxed);
	uint64_t end = b2f_min_u64(i + STEP, f->entries.n), size;
	int err;

	for (; i < end; i++) {
		err = size_of_chunk(f, i, &size);
		if (err)
			return err;
		*stuck = size == SIZE_UNKNOWN;
		if (*stuck)
			return 0;
		if (size > f->header.nbytes - starts[i])
			return wrong_sum(f, starts[i] + size);
		starts[i + 1] = starts[i] + size;
		/* The last chunk is the one to blame if the total is wrong. */
		if (i + 1 == f->entries.n && starts[i + 1] != f->header.nbytes)
			return wrong_sum(f, starts[i + 1]);
		set_known(&f->map, i + 1);
	}
	return 0;
}

int b2f_frame_map_grow(struct b2f_frame *f)
{
	struct b2f_frame_map *map = &f->map;
	bool stuck = false;
	int err;

	if (map->state == B2F_MAP_NONE)
		return begin(f);
	err = extend(f, &stuck);
	if (stuck)
		err = count_back(f, map->starts, map->nknown);
	if (is_passing(err) || (!err && !stuck && map->nknown < f->entries.n))
		return err;
	map->err = err;
	set_state(map, B2F_MAP_DONE);
	return 0;
}

/*
 * Sums up the heads of all chunks.  *@out stays if one tells no size, which is
 * for its reader to report: special ones are whole only if another is short.
 * *@last: the size of the last chunk.
 */
static int sum_heads(struct b2f_frame *f, uint64_t *out, uint32_t *last)
{
	uint32_t whole = is_fixed(f) ? (uint32_t)f->header.chunksize : 0;
	bool has_short = f->entries.nspecial == 0;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < f->entries.n; i++) {
		uint32_t nbytes = whole;
		bool sealed;
		int err = 0;

		if (!is_special(f, i))
			err = b2f_frame_chunk_nbytes(f, i, &nbytes, &sealed,
						     NULL);
		if (err)
			return is_passing(err) ? err : 0;
		has_short |= nbytes < whole;
		sum += nbytes;
		*last = nbytes;
	}
	if (has_short)
		*out = sum;
	return 0;
}

/*
 * Is the size in the header wrong, rather than the head of a chunk?  In a frame
 * of fixed chunks a right one fits the @last chunk.
 */
static bool is_size_wrong(const struct b2f_frame *f, uint64_t sum,
			  uint32_t last)
{
	uint64_t size = (uint32_t)f->header.chunksize, n = f->entries.n;

	return sum != f->header.nbytes &&
	       (!is_fixed(f) || (b2f_div_up_u64(sum, size) == n &&
				 f->header.nbytes + size != n * size + last));
}

int b2f_frame_add_up(struct b2f_frame *frame, bool *done)
{
	uint64_t sum = frame->header.nbytes;
	uint32_t last = 0;
	int err = 0;

	if (!frame->sealed)
		err = sum_heads(frame, &sum, &last);
	*done = !err && is_size_wrong(frame, sum, last);
	if (!*done)
		return err;
	frame->header.nbytes = sum;
	b2f_frame_info_set(frame);
	return 0;
}
