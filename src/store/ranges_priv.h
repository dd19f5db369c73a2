/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranges_priv.h - the fields of a table of ranges
 *
 * Layer: store, for ranges.c and ranges_check.c only.
 *
 * Threads: everything but the references is under the lock.
 */
#ifndef B2F_STORE_RANGES_PRIV_H
#define B2F_STORE_RANGES_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/checked.h"
#include "store/ranges.h"

/* The bytes between two offsets. */
struct b2f_extent {
	uint64_t off;
	uint64_t end;
};

/* A range with its id. */
struct b2f_named_range {
	uint64_t off;
	/* 0: before @end is set: not known; afterwards: returned. */
	uint32_t size;
	uint32_t id;
};

struct b2f_ranges {
	atomic_uint refs;
	pthread_mutex_t lock;
	/* Sorted by id. */
	struct b2f_named_range *items;
	uint64_t n;
	uint64_t cap;
	/* Number of returned ranges. */
	uint64_t ngone;
	/* The next id. */
	uint64_t next_id;
	uint64_t limit;
	/* The end of all ranges; 0: no range was taken yet. */
	uint64_t end;
	/* End of the header, and of the trailer of a frame without data. */
	uint64_t head_end;
	bool has_writer;
	/* Free ranges, sorted by offset; no two of them touch. */
	struct b2f_range *gaps;
	size_t ngaps;
	size_t gaps_cap;
	/*
	 * Indexes of the first @ngrouped items: @nsorted of them by offset,
	 * then the others; and the extent of each B2F_GROUP of them, so that an
	 * overlap is found without looking at most items.  Malloc'ed, with room
	 * for @groups_cap items.
	 */
	uint32_t *order;
	struct b2f_extent *groups;
	uint64_t nsorted;
	uint64_t ngrouped;
	uint64_t groups_cap;
};

/* Items of a group. */
#define B2F_GROUP 256

/* Call after items have moved, or were inserted. */
static inline void b2f_ranges_ungroup(struct b2f_ranges *r)
{
	r->ngrouped = r->nsorted = 0;
}

/* Range @id, or NULL: it does not exist, or was returned. */
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
