/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges_check.c - checks ranges before they are returned */
#include <errno.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "store/ranges_priv.h"

/* A range that is to be returned; @off is first, for b2f_compare_u64(). */
struct leaver {
	uint64_t off;
	uint64_t end;
	uint64_t id;
};

/* Lists the ranges among the @n @ids that are in use, by position. */
static size_t list_leavers(const struct b2f_ranges *r, const uint64_t *ids,
			   size_t n, struct leaver *out)
{
	size_t nout = 0;

	for (size_t i = 0; i < n; i++) {
		const struct b2f_named_range *item = b2f_ranges_find(r, ids[i]);
		struct b2f_range own;

		if (!item)
			continue;
		own = b2f_ranges_behind_head(r, item->off, item->size);
		if (own.size)
			out[nout++] = (struct leaver){
				own.off, own.off + own.size, ids[i]};
	}
	qsort(out, nout, sizeof(*out), b2f_compare_u64);
	return nout;
}

static bool are_apart(const struct leaver *leavers, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (leavers[i].off < leavers[i - 1].end)
			return false;
	return true;
}

/* The first of the sorted, disjoint @leavers that ends behind @off. */
static size_t first_behind(const struct leaver *leavers, size_t n, uint64_t off)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (leavers[mid].end <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Does a leaver except @self overlap the @size bytes at @off?  A range that was
 * given back has none.
 */
static bool are_hit(const struct leaver *leavers, size_t n, uint64_t off,
		    uint64_t size, uint64_t self)
{
	for (size_t i = first_behind(leavers, n, off);
	     i < n && size && leavers[i].off < off + size; i++)
		if (leavers[i].id != self)
			return true;
	return false;
}

static int reserve_groups(struct b2f_ranges *r)
{
	uint64_t cap = r->n + r->n / 2 + B2F_GROUP;
	struct b2f_extent *groups;
	uint32_t *order;

	if (r->n <= r->groups_cap)
		return 0;
	order = realloc(r->order, cap * sizeof(*order));
	if (!order)
		return -ENOMEM;
	r->order = order;
	groups = realloc(r->groups, (cap / B2F_GROUP + 1) * sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	r->groups = groups;
	r->groups_cap = cap;
	return 0;
}

/* An item and its offset. */
struct placed {
	uint64_t off;
	uint32_t i;
};

static int sort_items(struct b2f_ranges *r)
{
	B2F_OWN struct placed *all = malloc((r->n + 1) * sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (uint64_t i = 0; i < r->n; i++)
		all[i] = (struct placed){r->items[i].off, (uint32_t)i};
	qsort(all, r->n, sizeof(*all), b2f_compare_u64);
	for (uint64_t i = 0; i < r->n; i++)
		r->order[i] = all[i].i;
	r->nsorted = r->n;
	r->ngrouped = 0;
	return 0;
}

/*
 * Adds new items to the groups.  An item that shrinks leaves its group
 * unchanged, which only costs time.  If there are many new items, all are
 * sorted again.
 */
static int group_items(struct b2f_ranges *r)
{
	int err = reserve_groups(r);

	if (!err && r->n - r->nsorted > r->nsorted / 8 + B2F_GROUP)
		err = sort_items(r);
	for (uint64_t i = r->ngrouped; i < r->n && !err; i++) {
		struct b2f_extent *group = &r->groups[i / B2F_GROUP];
		const struct b2f_named_range *item;

		if (i >= r->nsorted)
			r->order[i] = (uint32_t)i;
		if (i % B2F_GROUP == 0)
			*group = (struct b2f_extent){UINT64_MAX, 0};
		item = &r->items[r->order[i]];
		group->off = b2f_min_u64(group->off, item->off);
		group->end = b2f_max_u64(group->end, item->off + item->size);
	}
	if (!err)
		r->ngrouped = r->n;
	return err;
}

/* Does a leaver overlap the extent of @group? */
static bool may_hit(const struct leaver *leavers, size_t n,
		    const struct b2f_extent *group)
{
	size_t i = first_behind(leavers, n, group->off);

	return i < n && leavers[i].off < group->end;
}

/* Does an item of group @group that is not a leaver overlap a leaver? */
static bool group_hits(const struct b2f_ranges *r, uint64_t group,
		       const struct leaver *leavers, size_t n)
{
	uint64_t end = b2f_min_u64(r->n, (group + 1) * B2F_GROUP);

	if (!may_hit(leavers, n, &r->groups[group]))
		return false;
	for (uint64_t i = group * B2F_GROUP; i < end; i++) {
		const struct b2f_named_range *item = &r->items[r->order[i]];

		if (are_hit(leavers, n, item->off, item->size, item->id))
			return true;
	}
	return false;
}

static bool is_free_of_others(const struct b2f_ranges *r,
			      const struct leaver *leavers, size_t n)
{
	if (!are_apart(leavers, n))
		return false;
	for (uint64_t i = 0; i < b2f_div_up_u64(r->n, B2F_GROUP); i++)
		if (group_hits(r, i, leavers, n))
			return false;
	for (size_t i = 0; i < r->ngaps; i++)
		if (are_hit(leavers, n, r->gaps[i].off, r->gaps[i].size,
			    UINT64_MAX))
			return false;
	return true;
}

int b2f_ranges_check(struct b2f_ranges *r, const uint64_t *ids, size_t n)
{
	B2F_OWN struct leaver *leavers = malloc((n ? n : 1) * sizeof(*leavers));
	int err;

	if (!leavers)
		return -ENOMEM;
	pthread_mutex_lock(&r->lock);
	n = list_leavers(r, ids, n, leavers);
	err = n ? group_items(r) : 0;
	if (!err && n && !is_free_of_others(r, leavers, n))
		err = -EINVAL;
	pthread_mutex_unlock(&r->lock);
	return err;
}
