/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replaced.h - the frame that is there when another one is to get its place
 *
 * Layer: remote.  May include: base/ store/ frame/.  Threads: one at a time.
 */
#ifndef B2F_REMOTE_REPLACED_H
#define B2F_REMOTE_REPLACED_H

#include "frame/ids.h"
#include "remote/remote_place.h"

/* Zero-initialize it; end it with b2f_replaced_fini(). */
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
