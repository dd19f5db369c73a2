/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweeper.h - chunks that go from the server, and those that are there
 *
 * Layer: remote.  May include: base/ store/ frame/.  Threads: any.
 */
#ifndef B2F_REMOTE_SWEEPER_H
#define B2F_REMOTE_SWEEPER_H

#include "frame/ids.h"
#include "remote/remote_place.h"

/*
 * Begins to remove those chunks of the list @ids that the index does not name that is
 * there now, whatever the caller believes of it; does not wait for them, unless many
 * are on their way.  Nothing else in remote/ removes a chunk.  No index that names one
 * of them may be on its way.
 *
 * With a @mark (not 0), that index has to be the one with it, or follow it (note.h): of
 * a frame that was made there since, chunks may have these ids that are not named yet.
 *
 * Returns 0, -ESTALE (it does not follow), or why the index cannot be read: then all
 * stay.  What cannot be removed stays, as a chunk that no index names.
 */
B2F_MUST_CHECK
int b2f_sweeper_remove(struct b2f_remote_place *place, const struct b2f_ids *ids,
		       uint64_t mark, struct b2f_why *why);

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
