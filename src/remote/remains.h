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

#include "frame/ids.h"
#include "remote/remote_place.h"

struct b2f_remote_remains {
	struct b2f_remote_place *place;
	struct b2f_ids ids;
	/*
	 * For chunks whose index was removed: hashes of id and version.  Once
	 * another program has removed them, a new frame may use their ids.
	 */
	struct b2f_ids versions;
	/*
	 * Mark of the index that replaced them (note.h); 0: none.  While the
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
 * Removes the index, if it is the version @only or @only is NULL, and lists the
 * chunks in @remains.  Returns 0, -ENOENT (no index), -ESTALE (another version,
 * or another program has made a frame there meanwhile), -EBUSY or an error of
 * requests.
 */
B2F_MUST_CHECK
int b2f_remains_take(struct b2f_remote_remains *remains,
		     const struct b2f_frame_stamp *only, struct b2f_why *why);

/*
 * The existing frame at a path where a frame is to be put.  Zero-initialize it;
 * end it with b2f_replaced_fini().
 */
struct b2f_replaced {
	bool is_there;
	/* The version of its index, and its note. */
	struct b2f_remote_stat index;
	struct b2f_note note;
	/* Chunks that earlier indexes named. */
	struct b2f_gone gone;
	/* Chunks that the index names, sorted; to be removed with it. */
	struct b2f_ids ids;
};

/*
 * Looks at the index of @place, and overwrites @out.  A missing index is no
 * error: @out says so.
 */
B2F_MUST_CHECK
int b2f_replaced_find(struct b2f_remote_place *place, struct b2f_replaced *out,
		      struct b2f_why *why);

/*
 * Lists the chunks of the existing frame.  A damaged frame yields an empty
 * list.  Returns 0, -ESTALE (the index has changed) or an error of requests.
 */
B2F_MUST_CHECK
int b2f_replaced_list(struct b2f_remote_place *place,
		      struct b2f_replaced *replaced, struct b2f_why *why);

void b2f_replaced_fini(struct b2f_replaced *replaced);

#endif
