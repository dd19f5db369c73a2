/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweeper.h - chunks that go from the server, and those that are there
 *
 * Layer: remote.  May include: base/ store/.  Threads: any.
 */
#ifndef B2F_REMOTE_SWEEPER_H
#define B2F_REMOTE_SWEEPER_H

#include "remote/remote_place.h"

/*
 * Begins to remove the chunk @id, and does not wait for it, unless many are on their
 * way.  What cannot be removed stays, as a chunk that no index names.
 */
void b2f_sweeper_remove(struct b2f_remote_place *place, int64_t id);

/* Waits for all that was begun. */
void b2f_sweeper_fini(struct b2f_remote_place *place);

/* Is @name that of a chunk?  Then *@id is its number. */
bool b2f_remote_parse_chunk(const char *name, int64_t *id);

/*
 * Calls @fn for each chunk object from number @first on.  Returns 0, what @fn
 * returned, or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_list_chunks(struct b2f_remote_place *place, uint64_t first,
			   int (*fn)(void *arg, int64_t id), void *arg,
			   struct b2f_why *why);

#endif
