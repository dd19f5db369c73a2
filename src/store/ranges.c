/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.c - the byte ranges of chunks in a contiguous frame */
#include "store/ranges.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/sorted.h"
#include "store/ranges_priv.h"

/* Ids have 31 bits, like those of chunk files. */
#define NIDS_MAX (UINT64_C(1) << 31)

/* Keeps positions within off_t. */
#define END_MAX (UINT64_C(1) << 62)

struct b2f_ranges *b2f_ranges_new(void)
{
	struct b2f_ranges *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	atomic_init(&r->refs, 1);
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

struct b2f_ranges *b2f_ranges_ref(struct b2f_ranges *r)
{
	if (r)
		atomic_fetch_add(&r->refs, 1);
	return r;
}

void b2f_ranges_unref(struct b2f_ranges *r)
{
	if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&r->lock);
	free(r->items);
	free(r->gaps);
	free(r->order);
	free(r->groups);
	free(r);
}

/* Forgets returned ranges once most of all ranges are returned. */
static void forget(struct b2f_ranges *r)
{
	uint64_t n = 0;

	if (r->ngone <= r->n / 2)
		return;
	for (uint64_t i = 0; i < r->n; i++)
		if (r->items[i].size)
			r->items[n++] = r->items[i];
	r->n = n;
	r->ngone = 0;
	b2f_ranges_ungroup(r);
}

static int reserve(struct b2f_ranges *r, uint64_t more)
{
	uint64_t cap;
	struct b2f_named_range *items;

	if (r->next_id + more > NIDS_MAX)
		return -ENOSPC;
	forget(r);
	cap = b2f_max_u64(r->n + more, r->cap + r->cap / 2);
	if (r->n + more <= r->cap)
		return 0;
	items = realloc(r->items, cap * sizeof(*items));
	if (!items)
		return -ENOMEM;
	r->items = items;
	r->cap = cap;
	return 0;
}

static uint64_t push(struct b2f_ranges *r, uint64_t off, uint32_t size)
{
	uint32_t id = (uint32_t)r->next_id++;

	r->items[r->n++] = (struct b2f_named_range){off, size, id};
	return id;
}

struct b2f_named_range *b2f_ranges_find(const struct b2f_ranges *r, uint64_t id)
{
	uint64_t low = 0, high = r->n;

	/* Holds until ranges are forgotten. */
	if (id < r->n && r->items[id].id == id)
		return &r->items[id];
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (r->items[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < r->n && r->items[low].id == id ? &r->items[low] : NULL;
}

int b2f_ranges_fill(struct b2f_ranges *r, uint64_t *places, uint64_t n,
		    uint64_t base, uint64_t limit)
{
	int err;
	B2F_HOLD(&r->lock);

	r->n = r->ngone = r->next_id = 0;
	b2f_ranges_ungroup(r);
	r->limit = limit;
	err = reserve(r, n);
	for (uint64_t i = 0; i < n && !err; i++)
		if (places[i] >> 63 == 0)
			places[i] = push(r, base + places[i], 0);
	return err;
}

/* Returns the offset that follows @off in the @n sorted @offs; or @limit. */
static uint64_t find_next(const uint64_t *offs, uint64_t n, uint64_t off,
			  uint64_t limit)
{
	uint64_t next = b2f_search_u64(offs, n, off) + 1;

	return next < n ? offs[next] : limit;
}

static bool has_twins(const uint64_t *sorted, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++)
		if (sorted[i - 1] == sorted[i])
			return true;
	return false;
}

/* The offsets of all ranges, sorted; NULL: out of memory. */
static uint64_t *sort_begins(const struct b2f_ranges *r)
{
	uint64_t *sorted = malloc((r->n ? r->n : 1) * sizeof(*sorted));

	if (!sorted)
		return NULL;
	for (uint64_t i = 0; i < r->n; i++)
		sorted[i] = r->items[i].off;
	qsort(sorted, r->n, sizeof(*sorted), b2f_compare_u64);
	return sorted;
}

/*
 * Ends each range where the next one begins; of twins, one stays without end.
 */
static void set_ends(struct b2f_ranges *r, const uint64_t *sorted)
{
	b2f_ranges_ungroup(r);
	for (uint64_t i = 0; i < r->n; i++) {
		struct b2f_named_range *item = &r->items[i];
		uint64_t next = find_next(sorted, r->n, item->off, r->limit);

		item->size = (uint32_t)b2f_min_u64(next - item->off,
						   UINT32_MAX);
	}
}

int b2f_ranges_find_ends(struct b2f_ranges *r)
{
	B2F_HOLD(&r->lock);
	B2F_OWN uint64_t *sorted = sort_begins(r);

	if (sorted)
		set_ends(r, sorted);
	return sorted ? 0 : -ENOMEM;
}

int b2f_ranges_begin(struct b2f_ranges *r, uint64_t end)
{
	B2F_HOLD(&r->lock);
	B2F_OWN uint64_t *sorted = sort_begins(r);
	int err;

	if (!sorted)
		return -ENOMEM;
	err = has_twins(sorted, r->n) ? -EEXIST : 0;
	if (!err)
		set_ends(r, sorted);
	r->end = end;
	r->has_writer = !err;
	return err;
}

bool b2f_ranges_has_writer(struct b2f_ranges *r)
{
	if (!r)
		return false;
	B2F_HOLD(&r->lock);
	return r->has_writer;
}

void b2f_ranges_end(struct b2f_ranges *r)
{
	pthread_mutex_lock(&r->lock);
	r->has_writer = false;
	pthread_mutex_unlock(&r->lock);
}

int b2f_ranges_add(struct b2f_ranges *r, uint64_t off, uint32_t size,
		   uint64_t *id)
{
	B2F_HOLD(&r->lock);
	int err = reserve(r, 1);

	if (!err)
		*id = push(r, off, size);
	return err;
}

/* Removes the bytes before @end from the gaps. */
static void carve_gaps(struct b2f_ranges *r, uint64_t end)
{
	while (r->ngaps && r->gaps[0].off < end) {
		struct b2f_range *gap = &r->gaps[0];
		uint64_t lost = b2f_min_u64(end - gap->off, gap->size);

		gap->off += lost;
		gap->size -= lost;
		if (gap->size)
			break;
		memmove(gap, gap + 1, --r->ngaps * sizeof(*gap));
	}
	/* New ranges begin behind it. */
	r->end = b2f_max_u64(r->end, end);
}

void b2f_ranges_cover(struct b2f_ranges *r, uint64_t end)
{
	pthread_mutex_lock(&r->lock);
	r->head_end = b2f_max_u64(r->head_end, end);
	carve_gaps(r, end);
	pthread_mutex_unlock(&r->lock);
}

static void remove_gap(struct b2f_ranges *r, size_t i)
{
	memmove(&r->gaps[i], &r->gaps[i + 1],
		(--r->ngaps - i) * sizeof(*r->gaps));
}

/* Makes room for one more gap; false: out of memory. */
static bool reserve_gap(struct b2f_ranges *r)
{
	struct b2f_range *gaps = b2f_grown(r->gaps, &r->gaps_cap, r->ngaps + 1,
					   sizeof(*gaps));

	r->gaps = gaps ? gaps : r->gaps;
	return gaps;
}

/* Joins gap @i with the one behind it if they touch. */
static void join_gaps(struct b2f_ranges *r, size_t i)
{
	if (i + 1 >= r->ngaps ||
	    r->gaps[i].off + r->gaps[i].size != r->gaps[i + 1].off)
		return;
	r->gaps[i].size += r->gaps[i + 1].size;
	remove_gap(r, i + 1);
}

/* Free bytes at the end are not a gap. */
static void drop_last_gap(struct b2f_ranges *r)
{
	const struct b2f_range *last = r->ngaps ? &r->gaps[r->ngaps - 1] : NULL;

	if (!last || last->off + last->size != r->end)
		return;
	r->end = last->off;
	r->ngaps--;
}

static void add_gap(struct b2f_ranges *r, uint64_t off, uint64_t size)
{
	struct b2f_range gap = b2f_ranges_behind_head(r, off, size);
	size_t i = r->ngaps;

	/* Without memory the room is lost until the frame is opened again. */
	if (gap.size == 0 || !reserve_gap(r))
		return;
	while (i > 0 && r->gaps[i - 1].off > gap.off)
		i--;
	memmove(&r->gaps[i + 1], &r->gaps[i],
		(r->ngaps++ - i) * sizeof(*r->gaps));
	r->gaps[i] = gap;
	join_gaps(r, i);
	if (i > 0)
		join_gaps(r, i - 1);
	drop_last_gap(r);
}

/* Finds the first gap with @size bytes between @from and @until, or -1. */
static ptrdiff_t find_gap(const struct b2f_ranges *r, uint64_t from,
			  uint64_t until, uint32_t size)
{
	for (size_t i = 0; i < r->ngaps; i++) {
		const struct b2f_range *gap = &r->gaps[i];
		uint64_t off = b2f_max_u64(gap->off, from);
		uint64_t end = b2f_min_u64(gap->off + gap->size, until);

		if (gap->off >= until)
			break;
		if (off < end && end - off >= size)
			return (ptrdiff_t)i;
	}
	return -1;
}

/* Takes @size bytes of gap @i, from offset @from on. */
static uint64_t cut_gap(struct b2f_ranges *r, size_t i, uint64_t from,
			uint32_t size)
{
	struct b2f_range gap = r->gaps[i];
	uint64_t off = b2f_max_u64(gap.off, from);
	uint64_t rest = gap.off + gap.size - off - size;

	r->gaps[i].size = off - gap.off;
	if (r->gaps[i].size == 0)
		remove_gap(r, i);
	add_gap(r, off + size, rest);
	return off;
}

int b2f_ranges_take(struct b2f_ranges *r, uint64_t from, uint64_t until,
		    uint32_t size, uint64_t *id)
{
	B2F_HOLD(&r->lock);
	int err = r->end + size > END_MAX ? -EFBIG : reserve(r, 1);
	ptrdiff_t gap;

	if (err)
		return err;
	gap = find_gap(r, from, until, size);
	if (gap >= 0) {
		*id = push(r, cut_gap(r, (size_t)gap, from, size), size);
	} else if (until != UINT64_MAX) {
		return -ENOSPC;
	} else {
		r->end = b2f_max_u64(r->end, from);
		*id = push(r, r->end, size);
		r->end += size;
	}
	return 0;
}

void b2f_ranges_trim(struct b2f_ranges *r, uint64_t id, uint32_t size)
{
	B2F_HOLD(&r->lock);
	struct b2f_named_range *item = b2f_ranges_find(r, id);
	uint32_t rest;

	if (item && size < item->size) {
		rest = item->size - size;
		item->size = size;
		r->ngone += !size;
		add_gap(r, item->off + size, rest);
	}
}

bool b2f_ranges_get(struct b2f_ranges *r, uint64_t id, struct b2f_range *out)
{
	const struct b2f_named_range *item;

	if (!r)
		return false;
	B2F_HOLD(&r->lock);
	item = b2f_ranges_find(r, id);
	if (!item)
		return false;
	out->off = item->off;
	out->size = item->size || r->end ? item->size : r->limit - item->off;
	return true;
}

bool b2f_ranges_is_last(struct b2f_ranges *r, uint64_t id)
{
	B2F_HOLD(&r->lock);
	const struct b2f_named_range *item = b2f_ranges_find(r, id);

	return item && item->off + item->size == r->end;
}

bool b2f_ranges_get_own(struct b2f_ranges *r, uint64_t id,
			struct b2f_range *out)
{
	B2F_HOLD(&r->lock);
	const struct b2f_named_range *item = b2f_ranges_find(r, id);

	*out = (struct b2f_range){0};
	if (item)
		*out = b2f_ranges_behind_head(r, item->off, item->size);
	return out->size != 0;
}

void b2f_ranges_give_back(struct b2f_ranges *r, uint64_t id)
{
	B2F_HOLD(&r->lock);
	struct b2f_named_range *item = b2f_ranges_find(r, id);

	if (item && item->size) {
		add_gap(r, item->off, item->size);
		item->size = 0;
		r->ngone++;
	}
}
