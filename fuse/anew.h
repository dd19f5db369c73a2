/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * anew.h - arrays that are opened with O_TRUNC and written again
 *
 * An array keeps its size, so O_TRUNC does not cut it.  The writes of a handle
 * replace the array as a whole, in the commit of its first flush when it is
 * complete:
 *
 *   due      nothing has changed yet; a view collects the header
 *   begun    the new array is in memory, a part of it written
 *   ended    it is complete, and changed like any other
 *   spoiled  something was refused: the close goes back to the stored array
 *
 * A view may begin another array, with its header; NAME itself has the shape
 * and type that it had.  An array that is incomplete at the close is dropped: a
 * program that was killed leaves the old array.  Data of other writers
 * meanwhile are dropped, too: their next flush or fsync gets ESTALE.  A handle
 * begins a new array once no other one is replacing it, or gets EBUSY.
 *
 * Layer: fuse.  Threads: any; they may block on I/O.
 */
#ifndef B2F_FUSE_ANEW_H
#define B2F_FUSE_ANEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "handle.h"

/* Does @handle show an array that keeps its size, or a view? */
bool fs_anew_is_for(const struct fs_handle *handle);

/* Sets the state to due.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_anew_begin(struct fs_handle *handle);

/* Is the state due? */
bool fs_anew_is_due(const struct fs_handle *handle);

/* Is the new array partly written?  If so, nothing is committed. */
bool fs_anew_is_half(const struct fs_handle *handle);

/*
 * Call this before a write of @size bytes at @buf to @off; the first one begins
 * the new array.  Returns how many of the bytes belong to a new header, or as
 * b2f_file_begin_anew(); does nothing for other handles.
 */
B2F_MUST_CHECK
ssize_t fs_anew_before_write(struct fs *fs, struct fs_handle *handle,
			     const char *buf, size_t size, uint64_t off);

/* For ftruncate(2): the array may end with a hole. */
B2F_MUST_CHECK
int fs_anew_resize(struct fs *fs, struct fs_handle *handle, uint64_t size);

/* Notes that a change was refused.  Does nothing for other handles. */
void fs_anew_spoil(struct fs_handle *handle);

/*
 * Call this before a commit through @handle.  Returns 0, also for other
 * handles, or -EPERM: the array is incomplete.
 */
B2F_MUST_CHECK
int fs_anew_finish(struct fs_handle *handle);

/* At the close: goes back to the stored array if the new one is incomplete. */
void fs_anew_end(struct fs *fs, struct fs_handle *handle);

#endif
