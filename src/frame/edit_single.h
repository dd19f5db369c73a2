/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit_single.h - a state of an edit becomes a contiguous frame on disk
 *
 * Layer: frame.  Threads: as edit.h.
 */
#ifndef B2F_FRAME_EDIT_SINGLE_H
#define B2F_FRAME_EDIT_SINGLE_H

#include "frame/edit.h"
#include "frame/edit_commit.h"

/* As b2f_edit_write(), but logs nothing. */
B2F_MUST_CHECK
int b2f_edit_single_write(struct b2f_edit *edit, struct b2f_commit *commit,
			  struct b2f_why *why);

/*
 * The same without waiting for other programs, which are locked out, of a state
 * that the room behind the header allows.
 */
B2F_MUST_CHECK
int b2f_edit_single_put(struct b2f_edit *edit, struct b2f_commit *commit,
			struct b2f_why *why);

/*
 * edit_end.c: gives back what nothing needs any more, and ends the file where the
 * frame ends, unless another program has written to it.
 */
void b2f_edit_single_end(struct b2f_edit *edit);

/* The second half of it, for an edit that goes on, and has nothing to commit. */
void b2f_edit_single_cut(struct b2f_edit *edit);

#endif
