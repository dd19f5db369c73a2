/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resize.h - files that are made longer or shorter: truncate(2), O_TRUNC
 *
 * The kernel leaves O_TRUNC to the open request, so that a frame that cannot be
 * opened can be cut to nothing all the same.
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_RESIZE_H
#define B2F_FUSE_RESIZE_H

#include "fs.h"

/*
 * Gives what @handle, which may write, has open the size @size.  Returns 0,
 * -EPERM (an array keeps its size; logged), an errno of the filesystem, or for
 * a frame also as b2f_file_allow_write() and b2f_file_truncate().
 */
B2F_MUST_CHECK
int fs_resize_handle(struct fs *fs, struct fs_handle *handle, uint64_t size);

/*
 * The same by name: @path_fd is a descriptor of @node.  As this is all that
 * happens to a frame, it is committed.  Returns also as fs_open_frame_get() and
 * b2f_file_commit().
 */
B2F_MUST_CHECK
int fs_resize_node(struct fs *fs, struct fs_node *node, int path_fd,
		   uint64_t size);

/* Returns 0 if the view @node has @size bytes, else -EPERM, or an errno. */
B2F_MUST_CHECK
int fs_resize_view(struct fs *fs, struct fs_node *node, uint64_t size);

/*
 * As fs_handle_open(), with O_TRUNC: cuts the file to nothing.  A sparse
 * frame that is damaged (B2F_ECORRUPT) becomes an empty one.  @by_user, who is
 * not root: the file loses its set-uid bits too.
 *
 * Returns also as fs_disk_frame_reset() and as fs_resize_handle().
 */
B2F_MUST_CHECK
int fs_resize_open(struct fs *fs, struct fs_node *node, int flags, bool by_user,
		   struct fs_handle **out);

#endif
