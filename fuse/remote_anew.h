/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_anew.h - arrays in an object store that are opened with O_TRUNC
 *
 * As anew.h says, but for views, which are not written to.  Functions do nothing for
 * other handles.
 *
 * Layer: fuse.  Threads: any; _before_write and _end make requests.
 */
#ifndef B2F_FUSE_REMOTE_ANEW_H
#define B2F_FUSE_REMOTE_ANEW_H

#include "remote_handle.h"

/* Is the array of @handle to be written anew, and has not begun? */
bool fs_remote_anew_is_due(const struct fs_remote_handle *handle);

/* Makes the array of @handle due.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_remote_anew_new(struct fs_remote_handle *handle);

/*
 * Begins what is due.  Returns 0, or as fs_remote_writer_commit() and
 * b2f_file_begin_anew().
 */
B2F_MUST_CHECK
int fs_remote_anew_before_write(struct fs *fs, struct fs_remote_handle *handle);

/* Notes that a change was refused. */
void fs_remote_anew_spoil(struct fs_remote_handle *handle);

/* Before a commit by @handle.  Returns 0, or -EPERM: it is not complete. */
B2F_MUST_CHECK
int fs_remote_anew_finish(struct fs_remote_handle *handle);

/* At the close: goes back to what is stored if it was not completed. */
void fs_remote_anew_end(struct fs *fs, struct fs_remote_handle *handle);

#endif
