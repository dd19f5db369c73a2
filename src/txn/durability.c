/* SPDX-License-Identifier: BSD-3-Clause */
/* durability.c - the states of a frame on disk */
#include "programs/durability.h"

#include "programs/io.h"

/*
 * Atomics of the compiler, because C99 and C++ have no _Atomic field of a
 * struct.
 */
enum b2f_durable_state b2f_durability_get(const struct b2f_durability *d)
{
	return __atomic_load_n(&d->state, __ATOMIC_SEQ_CST);
}

uint64_t b2f_durability_since_ns(const struct b2f_durability *d)
{
	return __atomic_load_n(&d->since_ns, __ATOMIC_SEQ_CST);
}

bool b2f_durability_move(struct b2f_durability *d, enum b2f_durable_state from,
			 enum b2f_durable_state to)
{
	if (!__atomic_compare_exchange_n(&d->state, &from, to, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	if (to == B2F_DISK_DURABLE)
		__atomic_store_n(&d->since_ns, 0, __ATOMIC_SEQ_CST);
	else if (from == B2F_DISK_DURABLE)
		__atomic_store_n(&d->since_ns, b2f_monotonic_ns(), __ATOMIC_SEQ_CST);
	return true;
}

int b2f_durability_sync(struct b2f_durability *d, int (*sync)(int fd), int fd)
{
	enum b2f_durable_state state = b2f_durability_get(d);
	int err;

	if (state == B2F_DISK_DURABLE)
		return 0;
	/* The kernel reports a failed write once: ask no second time. */
	if (b2f_durable_needs_commit(state))
		return -EIO;
	err = sync(fd);
	if (err)
		b2f_durability_fail(d);
	else if (!b2f_durability_move(d, state, B2F_DISK_DURABLE))
		err = -EIO;
	return err;
}

void b2f_durability_fail(struct b2f_durability *d)
{
	enum b2f_durable_state state = b2f_durability_get(d);

	while (state != B2F_DISK_DURABLE && state != B2F_DISK_FAILED &&
	       !b2f_durability_move(d, state, B2F_DISK_FAILED))
		state = b2f_durability_get(d);
}
