/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remains.h - chunks of a frame whose index is gone, or was replaced or changed
 *
 * Programs that have the frame open go on reading them until they are removed.
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
	 * For chunks whose index was removed: sums of id and version.  Another
	 * frame may get their ids when they, too, have been removed by another
	 * program.
	 */
	struct b2f_ids versions;
	/*
	 * They were replaced by the index with this mark (note.h); 0: there is
	 * none.  While the marks of the current index reach back to this one,
	 * no other chunk can have one of the ids; otherwise the chunks are
	 * left.
	 */
	uint64_t mark;
	/* Instead of all that: what commits to @place have replaced, if it is due. */
	bool due;
};

/* Nothing as yet, of @place.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_remains_new(struct b2f_remote_place *place,
		    struct b2f_remote_remains **out);

/*
 * Removes the index, if it is the version @only or that is NULL; @remains are all
 * chunks that are there then.  Returns 0, -ENOENT (there is none), -ESTALE (it is
 * another version, or another program has made a frame there meanwhile), -EBUSY or an
 * error of requests.
 */
B2F_MUST_CHECK
int b2f_remains_take(struct b2f_remote_remains *remains,
		     const struct b2f_frame_stamp *only, struct b2f_why *why);

/*
 * The frame that is there when another one is to get its place.  Zero-initialize it; end
 * it with b2f_replaced_fini().
 */
struct b2f_replaced {
	bool is_there;
	/* Its index, and what is beside it. */
	struct b2f_remote_stat index;
	struct b2f_note note;
	/* Chunks that earlier indexes named. */
	struct b2f_gone gone;
	/* Chunks that the index names, sorted: they go with it. */
	struct b2f_ids ids;
};

/*
 * Looks at the index in @place, whatever @out has said before.  A missing index
 * is no error: @out says so.
 */
B2F_MUST_CHECK
int b2f_replaced_find(struct b2f_remote_place *place, struct b2f_replaced *out,
		      struct b2f_why *why);

/*
 * Lists the chunks of one that is there; of one that is damaged, none.  Returns 0,
 * -ESTALE (the index is another one now) or an error of requests.
 */
B2F_MUST_CHECK
int b2f_replaced_list(struct b2f_remote_place *place,
		      struct b2f_replaced *replaced, struct b2f_why *why);

void b2f_replaced_fini(struct b2f_replaced *replaced);

#endif
