/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_anew.h - replaces an array by one written from the beginning
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
 * Begins to write the array of @file anew, as the .npy header in the @size
 * bytes at @head describes it; NULL: with the same shape and type.  It is an
 * array of zeros then, whose bytes do not exist before they are written.
 * Metalayers stay, except those that describe the shape.  The old array stays
 * on disk until b2f_file_end_anew() and a commit; b2f_file_revert() restores
 * it.  Commit changes of it that are to be kept first.
 *
 * Plain data that describe their own array (b2f_frame_npy_header()) are written
 * anew, too, but only with the same header.
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
