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
 * One object that goes, of which the outcome is known in the end.
 * If the answer to a DELETE is lost, another writer may have made a new object
 * of that name since.  So a HEAD comes before a second DELETE; and where the
 * server takes conditions of DELETE, only the version that was seen is deleted.
 */
struct b2f_removal {
	const char *path;
	struct b2f_remote_stat version;
	struct b2f_note note;
};

/*
 * Returns 0: it is gone; -EAGAIN: it is there, in a later version; -ESTALE: something
 * else is there now, and stays; or an error of requests.
 */
B2F_MUST_CHECK
int b2f_removal_run(struct b2f_remote *remote, const struct b2f_removal *removal,
		    struct b2f_why *why);

/* A chunk that was put from here, and never committed. */
struct b2f_sent {
	uint64_t id;
	/* Mark of its PUT (note.h). */
	uint64_t mark;
	/*
	 * Marks of the commit in doubt that was to name it, and of the index
	 * before; or 0.
	 */
	uint64_t doubted;
	uint64_t doubted_base;
};

/* Chunks to remove. */
struct b2f_sweep {
	/* NULL: none. */
	const struct b2f_ids *ids;
	struct b2f_sent *sent;
	size_t nsent;
	/*
	 * The mark of an index (note.h): unless the one that is there has it, or
	 * follows it, another program may have put objects there that have these ids.
	 * @ids stay then; what was sent goes if it is still the same object.  0: no
	 * object but these can have @ids; for @sent as if it did not follow.
	 */
	uint64_t mark;
};

/*
 * Begins to remove those chunks of @what that the index does not name that is there
 * now, whatever the caller believes of it; does not wait for them, unless many are on
 * their way.  Nothing else in remote/ removes a chunk.  No index that names one of them
 * may be on its way, but for what @sent tells.
 *
 * Returns 0, or why the index cannot be read: then all stay.  A chunk that
 * cannot be removed stays as an orphan.
 */
B2F_MUST_CHECK
int b2f_sweeper_remove(struct b2f_remote_place *place,
		       const struct b2f_sweep *what, struct b2f_why *why);

/* Is it the time of a chunk that an index before has named (gone.h)? */
bool b2f_sweeper_is_due(struct b2f_remote_place *place);

/*
 * The same for these, beside what @what says, of which @ids and @mark are set here.  If
 * the last one is not there any more, another program has removed all of them.
 */
B2F_MUST_CHECK
int b2f_sweeper_remove_due(struct b2f_remote_place *place,
			   struct b2f_sweep *what, struct b2f_why *why);

/*
 * The same at the end of @place, if its remote is one that is written to; once for each
 * version of an index, as that tells of them for as long as it is there.
 */
void b2f_sweeper_end(struct b2f_remote_place *place);

/* Waits for all that was begun. */
void b2f_sweeper_fini(struct b2f_remote_place *place);

/* Is @name the name of a chunk?  If so, *@id is its id. */
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
