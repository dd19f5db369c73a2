/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweeper.h - removal of chunks from the server; lists of chunks
 *
 * Layer: remote.  May include: base/ store/ frame/.  Threads: any.
 */
#ifndef B2F_REMOTE_SWEEPER_H
#define B2F_REMOTE_SWEEPER_H

#include "txn/ids.h"
#include "remote/remote_place.h"

/* The current index of a frame.  Zero-initialize it. */
struct b2f_current {
	/* False: there is none, and all else is empty. */
	bool is_there;
	/*
	 * It cannot be read: B2F_ECORRUPT, B2F_ENOTFRAME, B2F_EUNSUPPORTED or
	 * B2F_ETOOBIG; then @named are not known.  Or 0.
	 */
	int unreadable;
	struct b2f_remote_stat version;
	struct b2f_note note;
	/* Chunks that earlier indexes named. */
	struct b2f_gone gone;
	/* Chunks that it names, sorted. */
	struct b2f_ids named;
};

/*
 * Reads the index of @place, in one request, and overwrites @out.  A missing or
 * unreadable index is no error.  Returns 0, -ENOMEM or an error of requests.
 * End @out with b2f_current_fini().
 */
B2F_MUST_CHECK
int b2f_current_read(struct b2f_remote_place *place, struct b2f_current *out,
		     struct b2f_why *why);

void b2f_current_fini(struct b2f_current *current);

/*
 * The removal of one object, whose outcome is found out.  If the answer to a
 * DELETE is lost, another writer may have made a new object of that name since.
 * So a HEAD comes before a second DELETE; and where the server honours
 * conditions of DELETE, only the version that was seen is deleted.
 */
struct b2f_removal {
	const char *path;
	struct b2f_remote_stat version;
	struct b2f_note note;
};

/*
 * Returns 0: the object is gone; -EAGAIN: a later version is there; -ESTALE: a
 * different object is there, and stays; or an error of requests.
 */
B2F_MUST_CHECK
int b2f_removal_run(struct b2f_remote *remote, const struct b2f_removal *removal,
		    struct b2f_why *why);

/*
 * Chunks to remove from the frame @place: uncommitted ones, or those of a frame
 * whose index was removed or replaced, which programs that have it open read
 * until they are removed.
 */
struct b2f_remote_remains {
	struct b2f_remote_place *place;
	struct b2f_ids chunks;
	/*
	 * For chunks that no index lists: hashes of id and version.  Once
	 * another program has removed them, a new frame may use their ids.
	 */
	struct b2f_ids versions;
	/* Chunks that were sent from here, and never committed. */
	struct b2f_upload **sent;
	size_t nsent;
	/*
	 * The mark of an index (note.h).  If the current index neither has this
	 * mark nor follows it, another program may have made objects with these
	 * ids: then @chunks stay, and @sent are removed only if unchanged. 0:
	 * no other objects can have their ids; @sent are treated as if the
	 * index did not follow.
	 */
	uint64_t mark;
	/* Instead of @chunks: chunks replaced by commits to @place, if due. */
	bool due;
};

/*
 * Starts to remove those chunks of @what that the current index does not name,
 * whatever version the caller knows; waits if many removals are under way.
 * Nothing else in remote/ removes a chunk.  No index that names one of them may
 * be under way, except as @sent says, and of copies, which use chunks that they
 * find (remote_target.c).  Against these stands a flag, an object beside the
 * chunks: without a mark, it is put before the current index is read, and goes
 * when all removals have ended.
 *
 * Returns 0, or the error of putting the flag or of reading the index: then all
 * stay.  A chunk that cannot be removed stays as an orphan, and so do all that
 * are left once the thread has no patience.
 */
B2F_MUST_CHECK
int b2f_sweeper_remove(const struct b2f_remote_remains *what,
		       struct b2f_why *why);

/*
 * Is @entry a flag?  While there is a flag, chunks that no index names may be
 * removed at any time.  Files of other programs may have such names, but are
 * larger.
 */
bool b2f_sweeper_is_flag(const struct b2f_remote_entry *entry);

/* Are there chunks of earlier indexes (gone.h) that are due for removal? */
bool b2f_sweeper_is_due(struct b2f_remote_place *place);

/*
 * Like b2f_sweeper_remove(), for chunks that are due, a thousand at most, and
 * @what, whose @mark is set here.  If the last one no longer exists, another
 * program has removed all of them.
 */
B2F_MUST_CHECK
int b2f_sweeper_remove_due(struct b2f_remote_remains *what,
			   struct b2f_why *why);

/*
 * Like b2f_sweeper_remove_due(), when @place is closed, if its remote was
 * written to; once per version of an index.
 */
void b2f_sweeper_end(struct b2f_remote_place *place);

/* Waits for all removals under way. */
void b2f_sweeper_fini(struct b2f_remote_place *place);

/* Is @name the name of a chunk?  If so, *@id is its id. */
bool b2f_remote_parse_chunk(const char *name, int64_t *id);

/*
 * Calls @fn for each chunk object from id @first on.  *@is_swept, unless
 * @is_swept is NULL: there is a flag; @first has to be 0 then.  Returns 0, what
 * @fn returned, or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_list_chunks(struct b2f_remote_place *place, uint64_t first,
			   int (*fn)(void *arg, int64_t id), void *arg,
			   bool *is_swept, struct b2f_why *why);

/* Raises *@id above the ids of all chunk objects.  Returns as the listing. */
B2F_MUST_CHECK
int b2f_remote_raise_id(struct b2f_remote_place *place, uint64_t *id,
			struct b2f_why *why);

/* No writer takes so long from a chunk to its commit, s. */
#define B2F_REMAINS_OLD_S 86400

/* Makes an empty list for @place.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_remains_new(struct b2f_remote_place *place,
		    struct b2f_remote_remains **out);

/*
 * Lists in @remains the chunks that @index, whose list of gone chunks it takes,
 * and earlier indexes named.  Others stay: a writer, or readers of another
 * removed frame, may have them; unless the index cannot be read, or with
 * @orphans if they are older than B2F_REMAINS_OLD_S.  Returns 0 or an error of
 * requests.
 */
B2F_MUST_CHECK
int b2f_remains_list(struct b2f_remote_remains *remains,
		     struct b2f_current *index, bool orphans,
		     struct b2f_why *why);

/*
 * Removes the index of @place, if it is the version @only or @only is NULL, and
 * makes the list of the chunks as b2f_remains_list().  Returns 0, -ENOENT (no
 * index), -ESTALE (another version, or another program has made a frame there
 * meanwhile), -EBUSY or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remains_take(struct b2f_remote_place *place,
		     const struct b2f_frame_stamp *only, bool orphans,
		     struct b2f_remote_remains **out, struct b2f_why *why);

#endif
