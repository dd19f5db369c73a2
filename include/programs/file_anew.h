/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_anew.h - an array is written from the beginning, in the place of another
 *
 * Layer: for bloscfs and bloscctl alone (made by file/).  Threads: every function
 * may be called from any thread, also at the same time.
 */
#ifndef B2F_PROGRAMS_FILE_ANEW_H
#define B2F_PROGRAMS_FILE_ANEW_H

#include "b2frame/write.h"

/*
 * True if @file, which is writable, shows an array that keeps its size: it can
 * be written to in place, or be written anew as a whole.
 */
bool b2f_file_keeps_size(struct b2f_file *file);

/*
 * Begins to write the array of @file anew: as the one that the .npy header at
 * @head tells of, in the @size bytes there; NULL: as one of the same kind.  It
 * is an array of zeros then, no byte of which is there before it is written.
 * Its metalayers stay, but for those that tell its shape.  On disk there is the
 * one before until b2f_file_end_anew() and a commit; b2f_file_revert() goes back
 * to it.  Commit first what is to be kept of that.
 *
 * Plain data that say what array they are (b2f_frame_npy_header()) are written so,
 * too, but only behind the header that they have.
 *
 * Returns the length of the header; -EAGAIN (it needs more bytes); -EPERM (there
 * cannot be such an array here: nothing has changed; logged); or as
 * b2f_file_pwrite(): then call b2f_file_revert().
 */
B2F_MUST_CHECK
ssize_t b2f_file_begin_anew(struct b2f_file *file, const void *head,
			    size_t size);

/*
 * Ends that, so that commits can be made.  @may_be_zeros: an array of which
 * nothing was written is one of zeros.  Returns 0; -EPERM (it is not complete, and
 * nothing has changed); or as b2f_file_truncate().
 */
B2F_MUST_CHECK
int b2f_file_end_anew(struct b2f_file *file, bool may_be_zeros);

#endif
