/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remains.h - chunks of a frame whose index was removed or replaced
 *
 * Programs that have the frame open read these chunks until they are removed.
 *
 * Layer: remote.  May include: base/ store/ frame/.  Threads: one at a time.
 */
#ifndef B2F_REMOTE_REMAINS_H
#define B2F_REMOTE_REMAINS_H

#include "remote/sweeper.h"
#include "txn/ids.h"

/* No writer takes so long from a chunk to its commit, s. */
#define B2F_REMAINS_OLD_S 86400

struct b2f_remote_remains {
	struct b2f_remote_place *place;
	struct b2f_ids ids;
	/*
	 * For chunks that no index lists: hashes of id and version.  Once
	 * another program has removed them, a new frame may use their ids.
	 */
	struct b2f_ids versions;
	/*
	 * Mark of the index that lists them (note.h); 0: none.  While the
	 * marks of the current index reach back to this one, no other chunk has
	 * one of the ids; otherwise the chunks stay.
	 */
	uint64_t mark;
	/* Instead: the chunks replaced by commits to @place, if due. */
	bool due;
};

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
 * Removes the index, if it is the version @only or @only is NULL, and lists the
 * chunks as b2f_remains_list() does.  Returns 0, -ENOENT (no
 * index), -ESTALE (another version, or another program has made a frame there
 * meanwhile), -EBUSY or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remains_take(struct b2f_remote_remains *remains,
		     const struct b2f_frame_stamp *only, bool orphans,
		     struct b2f_why *why);

#endif
