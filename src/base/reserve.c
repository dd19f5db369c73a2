/* SPDX-License-Identifier: BSD-3-Clause */
/* reserve.c - memory that is counted before it is taken */
#include "base/reserve.h"

#include <errno.h>
#include <stdbool.h>

#include "b2frame/error.h"

#define FREE_MAX (UINT64_C(16) << 10)

static uint64_t counted(uint64_t bytes)
{
	return bytes > FREE_MAX ? bytes : 0;
}

/* Counts @bytes for @r; false if it must not be above the limit and would. */
static bool move(struct b2f_reserved *r, uint64_t bytes, bool is_bounded)
{
	uint64_t now = counted(r->bytes), next = counted(bytes), used, sum;

	if (r->of && now != next) {
		used = atomic_load(&r->of->used);
		do {
			sum = used - now + next;
			if (is_bounded && next > now && sum > r->of->max)
				return false;
		} while (!atomic_compare_exchange_weak(&r->of->used, &used,
						       sum));
		if (next > now && r->of->make_room)
			r->of->make_room(r->of->arg);
	}
	r->bytes = bytes;
	return true;
}

int b2f_reserve_set(struct b2f_reserved *r, uint64_t bytes)
{
	if (move(r, bytes, true))
		return 0;
	return bytes > r->of->max ? B2F_ETOOBIG : -ENOMEM;
}

void b2f_reserve_force(struct b2f_reserved *r, struct b2f_reserve *reserve)
{
	uint64_t bytes = r->bytes;

	*r = (struct b2f_reserved){.of = reserve};
	(void)move(r, bytes, false);
}

void b2f_reserve_give(struct b2f_reserved *r, uint64_t bytes)
{
	(void)move(r, r->bytes - bytes, false);
}
