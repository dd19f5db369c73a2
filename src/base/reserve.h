/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reserve.h - memory that is counted before it is taken
 *
 * A frame of some hundred bytes may claim an index of 2 GiB, and holes take no
 * byte on disk.  Such memory stays as long as a frame is open.  Its owners
 * count it here, for all frames together, and the cache shrinks by as much.
 *
 * Layer: base.  Threads: any, but one at a time for a struct b2f_reserved.
 */
#ifndef B2F_BASE_RESERVE_H
#define B2F_BASE_RESERVE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/attr.h"

struct b2f_reserve {
	/* Bytes that all owners together may have.  Constant. */
	uint64_t max;
	/*
	 * NULL, or called with @arg when more is counted, before it is taken.
	 * Constant.
	 */
	void (*make_room)(void *arg);
	void *arg;
	_Atomic uint64_t used;
};

/* The share of one owner. */
struct b2f_reserved {
	/* NULL: @bytes do not count. */
	struct b2f_reserve *of;
	/* Up to 16 KiB of an owner do not count, and are never refused. */
	uint64_t bytes;
};

/*
 * Counts @bytes for @r, instead of its bytes before.  Returns 0.  On an error
 * @r keeps its bytes: -ENOMEM (others have to give back first), or B2F_ETOOBIG
 * (@bytes is above the bound).
 */
B2F_MUST_CHECK
int b2f_reserve_set(struct b2f_reserved *r, uint64_t bytes);

/* Counts @bytes more.  Returns as b2f_reserve_set(). */
B2F_MUST_CHECK
static inline int b2f_reserve_take(struct b2f_reserved *r, uint64_t bytes)
{
	return b2f_reserve_set(r, r->bytes + bytes);
}

/* Counts what @r has, and did not count, in @reserve, with or without room. */
void b2f_reserve_force(struct b2f_reserved *r, struct b2f_reserve *reserve);

/* Counts @bytes less. */
void b2f_reserve_give(struct b2f_reserved *r, uint64_t bytes);

#endif
