/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ahead.h - chunks on their way that no reader has opened yet
 *
 * Layer: remote.  May include: base/ store/.  Threads: under a lock of the caller.
 */
#ifndef B2F_REMOTE_AHEAD_H
#define B2F_REMOTE_AHEAD_H

#include "remote/fetch.h"
#include "remote/remote_place.h"

struct b2f_coming;

/* The prefetched objects of one store; zero-initialize it. */
struct b2f_ahead {
	struct b2f_coming *list;
	unsigned int n;
};

/* A chunk, or an index, that will be opened. */
struct b2f_ahead_chunk {
	/* Id of the object (store/store.h). */
	int64_t id;
	/* Where in its object; not 0 in a contiguous frame only. */
	uint64_t off;
	/* The first bytes of it, or all. */
	uint64_t n;
	/*
	 * The version of the index as long as which it stays as it is (of a
	 * contiguous frame, its own), or NULL.
	 */
	const struct b2f_remote_stat *index;
};

/* Begins to fetch @chunk.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_ahead_fetch(struct b2f_remote_place *place,
		    const struct b2f_ahead_chunk *chunk,
		    struct b2f_fetch **out);

/*
 * Begins to fetch @chunk, and keeps it for b2f_ahead_take().  If there are too many,
 * of all frames of the remote together, those go that no reader has opened for ten
 * seconds; without such ones @chunk is left out, as it is wanted later than they are.
 */
void b2f_ahead_add(struct b2f_ahead *ahead, struct b2f_remote_place *place,
		   const struct b2f_ahead_chunk *chunk);

/* The fetch of chunk @id, which is the caller's now; NULL: there is none. */
struct b2f_fetch *b2f_ahead_take(struct b2f_ahead *ahead,
				 struct b2f_remote_place *place, int64_t id);

/* The same of the chunk that begins at byte @off, of *@n bytes. */
struct b2f_fetch *b2f_ahead_take_at(struct b2f_ahead *ahead,
				    struct b2f_remote_place *place,
				    uint64_t off, uint64_t *n);

void b2f_ahead_fini(struct b2f_ahead *ahead, struct b2f_remote_place *place);

#endif
