/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_handle.h - handles of a bucket: frames, their views, and plain objects
 *
 * Layer: fuse.  Threads: any; makes requests.
 */
#ifndef B2F_FUSE_REMOTE_HANDLE_H
#define B2F_FUSE_REMOTE_HANDLE_H

#include "remote_node.h"

/*
 * Opens @entry, whose node it keeps, with the @flags of open(2).  Close *@out with
 * fs_handle_close().  Returns 0, -EROFS, -ESTALE (another version has its name), what
 * the frame is broken by, -ENOMEM, or an error of requests.
 */
B2F_MUST_CHECK
int fs_remote_handle_open(struct fs *fs, const struct fs_remote_entry *entry,
			  int flags, struct fs_handle **out);

/* Sets the size of what @handle may write to.  Returns as b2f_file_truncate(). */
B2F_MUST_CHECK
int fs_remote_handle_resize(struct fs *fs, struct fs_handle *handle,
			    uint64_t size);

#endif
