/* SPDX-License-Identifier: BSD-3-Clause */
/* durability.c - the states of what is on disk */
#include "b2frame/durability.h"

#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

bool b2f_durability_move(struct b2f_durability *d, enum b2f_durable_state from,
			 enum b2f_durable_state to)
{
	if (!atomic_compare_exchange_strong(&d->state, &from, to))
		return false;
	if (to == B2F_DISK_DURABLE)
		atomic_store(&d->since_ns, 0);
	else if (from == B2F_DISK_DURABLE)
		atomic_store(&d->since_ns, now_ns());
	return true;
}

void b2f_durability_fail(struct b2f_durability *d)
{
	enum b2f_durable_state state = b2f_durability_get(d);

	while (state != B2F_DISK_DURABLE && state != B2F_DISK_FAILED &&
	       !b2f_durability_move(d, state, B2F_DISK_FAILED))
		state = b2f_durability_get(d);
}
