/* SPDX-License-Identifier: BSD-3-Clause */
/* ahead.c - chunks on their way that no reader has opened yet */
#include "remote/ahead.h"

#include <stdlib.h>
#include <utlist.h>

#define COMING_MAX 64

/* The begin of a chunk that is on its way. */
struct b2f_coming {
	struct b2f_coming *prev;
	struct b2f_coming *next;
	int64_t id;
	uint64_t n;
	struct b2f_fetch *fetch;
};

int b2f_ahead_fetch(struct b2f_remote_place *place, int64_t id,
		    const struct b2f_remote_stat *part_of, uint64_t n,
		    struct b2f_fetch **out)
{
	char *path = b2f_remote_place_path(place, id);
	const struct b2f_fetch_spec spec = {
		.path = path, .part_of = part_of, .n = n};
	int err = path ? b2f_fetch_start(place->remote, &spec, out) : -ENOMEM;

	free(path);
	return err;
}

static struct b2f_coming *find(const struct b2f_ahead *ahead, int64_t id)
{
	struct b2f_coming *c;

	DL_FOREACH(ahead->list, c)
		if (c->id == id)
			break;
	return c;
}

struct b2f_fetch *b2f_ahead_take(struct b2f_ahead *ahead, int64_t id)
{
	struct b2f_coming *c = find(ahead, id);
	struct b2f_fetch *fetch;

	if (!c)
		return NULL;
	DL_DELETE(ahead->list, c);
	ahead->n--;
	ahead->bytes -= c->n;
	fetch = c->fetch;
	free(c);
	return fetch;
}

/* Makes room for @n more bytes; what goes was not opened for longest. */
static void make_room(struct b2f_ahead *ahead, uint64_t n)
{
	while (ahead->list && (ahead->n == COMING_MAX ||
			       ahead->bytes + n > B2F_AHEAD_BYTES_MAX))
		b2f_fetch_drop(b2f_ahead_take(ahead, ahead->list->id));
}

void b2f_ahead_add(struct b2f_ahead *ahead, struct b2f_remote_place *place,
		   int64_t id, const struct b2f_remote_stat *part_of,
		   uint64_t n)
{
	struct b2f_coming *c =
		find(ahead, id) ? NULL : calloc(1, sizeof(*c));

	if (!c)
		return;
	*c = (struct b2f_coming){.id = id, .n = n};
	if (b2f_ahead_fetch(place, id, part_of, n, &c->fetch)) {
		free(c);
		return;
	}
	make_room(ahead, n);
	DL_APPEND(ahead->list, c);
	ahead->n++;
	ahead->bytes += n;
}

void b2f_ahead_fini(struct b2f_ahead *ahead)
{
	while (ahead->list)
		b2f_fetch_drop(b2f_ahead_take(ahead, ahead->list->id));
}
