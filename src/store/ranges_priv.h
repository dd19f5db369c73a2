/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranges_priv.h - what a table of ranges is made of
 *
 * Layer: store, for ranges.c and ranges_check.c only.
 *
 * Threads: all of it is under the lock, but for the references.
 */
#ifndef B2F_STORE_RANGES_PRIV_H
#define B2F_STORE_RANGES_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/checked.h"
#include "store/ranges.h"

/* What lies between two places. */
struct b2f_extent {
	uint64_t off;
	uint64_t end;
};

/* A range with its id. */
struct b2f_named_range {
	uint64_t off;
	/* 0: not known before there is an @end; then, that it was given back. */
	uint32_t size;
	uint32_t id;
};

struct b2f_ranges {
	atomic_uint refs;
	pthread_mutex_t lock;
	/* In the order of ids. */
	struct b2f_named_range *items;
	uint64_t n;
	uint64_t cap;
	/* Number of ranges that were given back. */
	uint64_t ngone;
	/* The id that the next one gets. */
	uint64_t next_id;
	uint64_t limit;
	/* The end of all ranges; 0: no new one has been taken yet. */
	uint64_t end;
	/* Header, and trailer of a frame without data, are before this byte. */
	uint64_t head_end;
	bool has_writer;
	/*
	 * Ranges that were given back, sorted by position; no two of them
	 * touch.
	 */
	struct b2f_range *gaps;
	size_t ngaps;
	size_t gaps_cap;
	/*
	 * The indexes of the first @ngrouped items: those of @nsorted in the order
	 * of places, then the others; and between which places each B2F_GROUP of
	 * them are.  So what an item may touch is found without a look at most of
	 * the others.  Malloc'ed, with room for @groups_cap items.
	 */
	uint32_t *order;
	struct b2f_extent *groups;
	uint64_t nsorted;
	uint64_t ngrouped;
	uint64_t groups_cap;
};

/* Items of a group. */
#define B2F_GROUP 256

/* Items were put to other places, or among other ones. */
static inline void b2f_ranges_ungroup(struct b2f_ranges *r)
{
	r->ngrouped = r->nsorted = 0;
}

/* Range @id, or NULL: none has it, or not any more. */
struct b2f_named_range *b2f_ranges_find(const struct b2f_ranges *r,
					uint64_t id);

/* Returns the part of the @size bytes at @off that is not in the header. */
static inline struct b2f_range b2f_ranges_behind_head(const struct b2f_ranges *r,
						      uint64_t off,
						      uint64_t size)
{
	uint64_t end = off + size;

	off = b2f_min_u64(b2f_max_u64(off, r->head_end), end);
	return (struct b2f_range){off, end - off};
}

#endif
