/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges_check.c - may these ranges be given back? */
#include <errno.h>
#include <stdlib.h>

#include "store/ranges_priv.h"

/* A range that is to be given back. */
struct leaver {
	uint64_t off;
	uint64_t end;
	uint64_t id;
};

static int compare_leavers(const void *a, const void *b)
{
	const struct leaver *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

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
	qsort(out, nout, sizeof(*out), compare_leavers);
	return nout;
}

static bool are_apart(const struct leaver *leavers, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (leavers[i].off < leavers[i - 1].end)
			return false;
	return true;
}

/* The first of the sorted @leavers that ends behind @off; they are apart. */
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
 * Has any of them, but @self, a byte of the @size ones at @off?  Ranges that
 * were given back have none.
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

static bool is_free_of_others(const struct b2f_ranges *r,
			      const struct leaver *leavers, size_t n)
{
	if (!are_apart(leavers, n))
		return false;
	for (uint64_t i = 0; i < r->n; i++)
		if (are_hit(leavers, n, r->items[i].off, r->items[i].size,
			    r->items[i].id))
			return false;
	for (size_t i = 0; i < r->ngaps; i++)
		if (are_hit(leavers, n, r->gaps[i].off, r->gaps[i].size,
			    UINT64_MAX))
			return false;
	return true;
}

int b2f_ranges_check(struct b2f_ranges *r, const uint64_t *ids, size_t n)
{
	struct leaver *leavers = malloc((n ? n : 1) * sizeof(*leavers));
	bool is_free;

	if (!leavers)
		return -ENOMEM;
	pthread_mutex_lock(&r->lock);
	n = list_leavers(r, ids, n, leavers);
	is_free = n == 0 || is_free_of_others(r, leavers, n);
	pthread_mutex_unlock(&r->lock);
	free(leavers);
	return is_free ? 0 : -EINVAL;
}
