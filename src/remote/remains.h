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

#endif
