/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit_single.h - an edit of a contiguous frame
 *
 * Layer: frame.  Threads: as edit.h.
 */
#ifndef B2F_FRAME_EDIT_SINGLE_H
#define B2F_FRAME_EDIT_SINGLE_H

#include "frame/edit.h"

/*
 * Looks at the frame that is about to be changed.  Returns 0, -EROFS (two chunks
 * are in one place), B2F_ECORRUPT, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_edit_single_begin(struct b2f_edit *edit, struct b2f_why *why);

/*
 * edit_gaps.c: gives the ranges what is free between the chunks, as far as that is
 * sure: before the first one, and behind those that have a seal.
 */
void b2f_edit_find_gaps(struct b2f_edit *edit);

/*
 * New ranges begin here or behind it: what is before belongs to the header, and to
 * the trailer of a frame without data.
 */
static inline uint64_t b2f_edit_head_room(const struct b2f_edit *edit)
{
	uint64_t size = (uint64_t)edit->header.header_len +
			edit->frame->trailer_len;

	return size > B2F_SECTOR ? size : B2F_SECTOR;
}

/*
 * edit_gaps.c: bytes of chunk @nchunk of the committed state with its seal, which
 * is checked.  0: not known, as a chunk without a seal may be longer than it seems.
 */
uint64_t b2f_edit_measure(const struct b2f_edit *edit, uint64_t nchunk);

/* Frees what that took. */
void b2f_edit_single_fini(struct b2f_edit *edit);

/* As b2f_edit_has_changed(). */
B2F_MUST_CHECK
int b2f_edit_single_has_changed(const struct b2f_edit *edit);

/*
 * Before something is written behind the end of the frame: looks whether another
 * program has changed that, and sees to it that the next look can tell.  Returns
 * 0, -ESTALE (it has) or an errno.
 */
B2F_MUST_CHECK
int b2f_edit_single_claim(struct b2f_edit *edit, struct b2f_why *why);

/* As b2f_edit_write(), but logs nothing. */
B2F_MUST_CHECK
int b2f_edit_single_write(struct b2f_edit *edit, struct b2f_commit *commit,
			  struct b2f_why *why);

/*
 * Gives back what nothing needs any more, and ends the file where the frame ends,
 * unless another program has written to it.
 */
void b2f_edit_single_end(struct b2f_edit *edit);

#endif
