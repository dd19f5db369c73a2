/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * enlarge.h - a small contiguous frame becomes a sparse one
 *
 * A frame that was made small (index/fingerprint.h) is one file.  When it gets
 * more data than that is good for, a sparse frame with the same contents takes
 * its name.  Nothing is changed by that: at every moment, and after a loss of
 * power, the name leads to one of two frames with the contents of the same
 * commit.
 *
 * What is not committed yet is the caller's business.
 *
 * Layer: frame.  May include: base/ index/ store/.  Threads: as txn.h; all
 * functions read and write files.
 */
#ifndef B2F_FRAME_ENLARGE_H
#define B2F_FRAME_ENLARGE_H

#include "frame/txn.h"
#include "store/become.h"

/* The sparse frame, hidden beside the other one. */
struct b2f_grown {
	struct b2f_become become;
	struct b2f_frame *frame;
};

/*
 * Makes the sparse frame of what @txn has committed, in the directory @dirfd
 * where its file is @name; @durable: it survives a loss of power when this
 * returns.  Next come the other steps of store/become.h, after which @out->frame is
 * the caller's, or b2f_enlarge_undo().
 *
 * Returns 0; -EBUSY (other programs may hold NAME.b2lock, or have changed it),
 * or as b2f_become_begin() and b2f_frame_open(); then nothing is left.
 */
B2F_MUST_CHECK
int b2f_enlarge_begin(struct b2f_txn *txn, int dirfd, const char *name,
		   bool durable, struct b2f_grown *out, struct b2f_why *why);

/* They are not: deletes the sparse frame. */
void b2f_enlarge_undo(struct b2f_grown *grown);

#endif
