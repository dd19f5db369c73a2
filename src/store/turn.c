/* SPDX-License-Identifier: BSD-3-Clause */
/* turn.c - a reader's turn at the lock of C-Blosc2 */
#include "store/turn.h"

#include <errno.h>

/*
 * A lock file that this process may not read, or of another kind, is ignored.
 */
static int open_file(struct b2f_store *store, struct b2f_lock **out)
{
	int err = b2f_lock_open(store, false, out, NULL);

	return err == -ENOMEM ? err : err ? -ENOENT : 0;
}

int b2f_turn_share(struct b2f_store *store, uint32_t wait_ms,
		   struct b2f_lock **out, struct b2f_why *why)
{
	struct b2f_lock *lock = NULL;
	int err = open_file(store, &lock);

	if (!err && wait_ms != B2F_TURN_OURS)
		err = b2f_lock_share(lock, wait_ms, why);
	if (err)
		b2f_lock_close(lock);
	else
		*out = lock;
	return err == -ENOENT ? 0 : err;
}

int b2f_turn_begin(struct b2f_store *store, uint32_t wait_ms,
		   struct b2f_lock **out, struct b2f_why *why)
{
	struct b2f_lock_state state = {0};
	struct b2f_generation *now;
	struct b2f_lock *lock = NULL;
	int err;

	if (!b2f_lock_has_place(store))
		return 0;
	err = b2f_turn_share(store, wait_ms, &lock, why);
	if (!err && lock)
		err = b2f_lock_look(lock, &state);
	now = err ? NULL : b2f_generation_new(&state);
	if (!now) {
		b2f_lock_close(lock);
		return err ? err : -ENOMEM;
	}
	b2f_generation_unref(store->generation);
	store->generation = now;
	*out = lock;
	return 0;
}

int b2f_turn_check(struct b2f_store *store)
{
	struct b2f_generation *g = store->generation;
	struct b2f_lock_state now = {0};
	struct b2f_lock *lock = NULL;
	bool is_same;
	int err;

	if (!g)
		return -ENOENT;
	pthread_mutex_lock(&g->lock);
	err = open_file(store, &lock);
	if (!err)
		err = b2f_lock_look(lock, &now);
	is_same = (!err || err == -ENOENT) && b2f_generation_is(g, &now);
	pthread_mutex_unlock(&g->lock);
	b2f_lock_close(lock);
	if (err && err != -ENOENT)
		return err;
	return is_same ? err : -ESTALE;
}
