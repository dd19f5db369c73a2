/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ahead.h - prefetched chunks that no reader has opened yet
 *
 * Layer: remote.  May include: base/ store/.  Threads: under the caller's lock.
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

/* A chunk, or an index, that will be opened soon. */
struct b2f_ahead_chunk {
	/* Id of the object (store/store.h). */
	int64_t id;
	/* Its offset in the object; 0 except in a contiguous frame. */
	uint64_t off;
	/* Bytes to fetch from there: the first ones, or all. */
	uint64_t n;
	/*
	 * Version of the index (of a contiguous frame, of the frame itself):
	 * the chunk does not change while this version is current.  Or NULL.
	 */
	const struct b2f_remote_stat *index;
};

/* Begins to fetch @chunk.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_ahead_fetch(struct b2f_remote_place *place,
		    const struct b2f_ahead_chunk *chunk,
		    struct b2f_fetch **out);

/*
 * Begins to fetch @chunk, and keeps it for b2f_ahead_take().  If the remote has
 * prefetched too much, drops chunks that no reader has opened for ten seconds;
 * if that does not suffice, @chunk is not fetched.
 */
void b2f_ahead_add(struct b2f_ahead *ahead, struct b2f_remote_place *place,
		   const struct b2f_ahead_chunk *chunk);

/*
 * The fetch of the *@n bytes of chunk @id (below 0: any) at @off, which the
 * caller then owns; NULL: none.
 */
struct b2f_fetch *b2f_ahead_take(struct b2f_ahead *ahead,
				 struct b2f_remote_place *place, int64_t id,
				 uint64_t off, uint64_t *n);

void b2f_ahead_fini(struct b2f_ahead *ahead, struct b2f_remote_place *place);

#endif
