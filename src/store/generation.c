/* SPDX-License-Identifier: BSD-3-Clause */
/* generation.c - the generation of the lock file that a version belongs to */
#include "store/generation.h"

#include <stdlib.h>

struct b2f_generation *b2f_generation_new(const struct b2f_lock_state *state)
{
	struct b2f_generation *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	atomic_init(&g->refs, 1);
	atomic_init(&g->nwriters, 0);
	pthread_mutex_init(&g->lock, NULL);
	g->known = *state;
	return g;
}

struct b2f_generation *b2f_generation_ref(struct b2f_generation *g)
{
	if (g)
		atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
	return g;
}

void b2f_generation_unref(struct b2f_generation *g)
{
	if (!g || atomic_fetch_sub_explicit(&g->refs, 1,
					    memory_order_acq_rel) != 1)
		return;
	pthread_mutex_destroy(&g->lock);
	free(g);
}

bool b2f_generation_is(const struct b2f_generation *g,
		       const struct b2f_lock_state *now)
{
	const struct b2f_lock_state *then = &g->known;

	if (then->ino == 0 && now->generation == 0)
		return true;
	return then->dev == now->dev && then->ino == now->ino &&
	       then->generation == now->generation;
}

void b2f_generation_begin_writer(struct b2f_generation *g)
{
	if (g)
		atomic_fetch_add(&g->nwriters, 1);
}

void b2f_generation_end_writer(struct b2f_generation *g)
{
	if (g)
		atomic_fetch_sub(&g->nwriters, 1);
}

bool b2f_generation_has_writer(const struct b2f_generation *g)
{
	return !g || atomic_load(&g->nwriters) > 0;
}
