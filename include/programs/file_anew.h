/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_anew.h - replaces an array by one written from the beginning
 *
 * Layer: for bloscfs and bloscctl alone (made by file/).  Threads: every
 * function may be called from any thread, also at the same time.
 */
#ifndef B2F_PROGRAMS_FILE_ANEW_H
#define B2F_PROGRAMS_FILE_ANEW_H

#include "b2frame/write.h"

/*
 * Does the writable @file show an array that keeps its size?  A program can
 * change its items in place, or replace the whole array.
 */
bool b2f_file_keeps_size(struct b2f_file *file);

/*
 * Replaces the array of @file by a new one, which the .npy header in the @size
 * bytes at @head describes; NULL: an array of the same shape and type.  The new
 * array is not written yet: its items are zeros.  Metalayers stay, except those
 * that describe the shape.  The old array stays on disk until
 * b2f_file_end_anew() and a commit; b2f_file_revert() restores it.  Commit
 * earlier changes to it first if they are to be kept.
 *
 * Plain data with a description of their array (b2f_frame_tensor()) can be
 * replaced, too, but only with the same header.
 *
 * Returns the length of the header; -EAGAIN (@head is too short); -EPERM
 * (@file cannot become such an array; nothing has changed; logged); or as
 * b2f_file_pwrite(): then call b2f_file_revert().
 */
B2F_MUST_CHECK
ssize_t b2f_file_begin_anew(struct b2f_file *file, const void *head,
			    size_t size);

/*
 * Ends the replacement; commits are possible again.  @may_be_zeros: an array to
 * which nothing was written is complete, and all zeros.  Returns 0; -EPERM (the
 * array is not complete, and nothing has changed); or as b2f_file_truncate().
 */
B2F_MUST_CHECK
int b2f_file_end_anew(struct b2f_file *file, bool may_be_zeros);

#endif
