/* SPDX-License-Identifier: BSD-3-Clause */
/* ahead.c - prefetched chunks that no reader has opened yet */
#include "remote/ahead.h"

#include <stdlib.h>
#include <utlist.h>

#include "programs/io.h"

#define COMING_MAX 512

/* A prefetched chunk that no reader opens within this time is not wanted. */
#define STALE_NS UINT64_C(10000000000)

/* A chunk that is being fetched. */
struct b2f_coming {
	struct b2f_coming *prev;
	struct b2f_coming *next;
	int64_t id;
	uint64_t off;
	uint64_t n;
	uint64_t since_ns;
	struct b2f_fetch *fetch;
};

int b2f_ahead_fetch(struct b2f_remote_place *place,
		    const struct b2f_ahead_chunk *chunk, struct b2f_fetch **out)
{
	B2F_OWN char *path = b2f_remote_place_path(place, chunk->id);
	const struct b2f_fetch_spec spec = {
		.path = path,
		.version = place->sparse ? NULL : chunk->index,
		.part_of = place->sparse ? chunk->index : NULL,
		.off = chunk->off,
		.n = chunk->n};

	return b2f_fetch_start(place->remote, &spec, out);
}

static struct b2f_coming *find(const struct b2f_ahead *ahead, int64_t id,
			       uint64_t off)
{
	struct b2f_coming *c;

	DL_FOREACH(ahead->list, c)
		if (c->off == off && (id < 0 || c->id == id))
			break;
	return c;
}

/* Takes @c off the list. */
static struct b2f_fetch *take(struct b2f_ahead *ahead,
			      struct b2f_remote_place *place,
			      struct b2f_coming *c)
{
	struct b2f_fetch *fetch = c->fetch;

	DL_DELETE(ahead->list, c);
	ahead->n--;
	atomic_fetch_sub(&place->remote->coming_bytes, c->n);
	free(c);
	return fetch;
}

struct b2f_fetch *b2f_ahead_take(struct b2f_ahead *ahead,
				 struct b2f_remote_place *place, int64_t id,
				 uint64_t off, uint64_t *n)
{
	struct b2f_coming *c = find(ahead, id, off);

	*n = c ? c->n : 0;
	return c ? take(ahead, place, c) : NULL;
}

static bool has_room(const struct b2f_ahead *ahead,
		     const struct b2f_remote_place *place, uint64_t n)
{
	const struct b2f_remote *remote = place->remote;

	return ahead->n < COMING_MAX &&
	       atomic_load(&remote->coming_bytes) + n <= remote->ahead_bytes;
}

/* Returns false if there is no room for @n more bytes. */
static bool make_room(struct b2f_ahead *ahead, struct b2f_remote_place *place,
		      uint64_t n)
{
	uint64_t now = b2f_monotonic_ns();

	while (!has_room(ahead, place, n) && ahead->list &&
	       now - ahead->list->since_ns > STALE_NS)
		b2f_fetch_drop(take(ahead, place, ahead->list));
	return has_room(ahead, place, n);
}

void b2f_ahead_add(struct b2f_ahead *ahead, struct b2f_remote_place *place,
		   const struct b2f_ahead_chunk *chunk)
{
	struct b2f_coming *c;

	if (chunk->n == 0 || find(ahead, chunk->id, chunk->off) ||
	    !make_room(ahead, place, chunk->n))
		return;
	c = calloc(1, sizeof(*c));
	if (!c || b2f_ahead_fetch(place, chunk, &c->fetch)) {
		free(c);
		return;
	}
	c->id = chunk->id;
	c->off = chunk->off;
	c->n = chunk->n;
	c->since_ns = b2f_monotonic_ns();
	DL_APPEND(ahead->list, c);
	ahead->n++;
	atomic_fetch_add(&place->remote->coming_bytes, c->n);
}

void b2f_ahead_fini(struct b2f_ahead *ahead, struct b2f_remote_place *place)
{
	while (ahead->list)
		b2f_fetch_drop(take(ahead, place, ahead->list));
}
