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
 * Sets the size of the file that @handle may write to.  Returns 0, -EPERM (an
 * array keeps its size; logged), an errno of the filesystem, or for a frame
 * also the errors of b2f_file_allow_write() and b2f_file_truncate().
 */
B2F_MUST_CHECK
int fs_resize_handle(struct fs *fs, struct fs_handle *handle, uint64_t size);

/*
 * Sets the size of @node, whose descriptor is @path_fd, and commits that, as no
 * handle will.  Returns also the errors of fs_open_frame_get() and
 * b2f_file_commit().
 */
B2F_MUST_CHECK
int fs_resize_node(struct fs *fs, struct fs_backed *node, int path_fd,
		   uint64_t size);

/* Returns 0 if the view @node has @size bytes, -EPERM if not, or an errno. */
B2F_MUST_CHECK
int fs_resize_view(struct fs *fs, struct fs_backed *node, uint64_t size);

/*
 * fs_tree_handle_open() with O_TRUNC: cuts the file to nothing.  An array, or a view
 * of one, that is opened for writing stays as it is until it has been written
 * again (anew.h).  A damaged sparse frame (B2F_ECORRUPT) becomes an empty one.
 * Opened by another user than root, the file loses its set-uid bits.
 * Returns also the errors of
 * fs_disk_frame_reset() and fs_resize_handle().
 */
B2F_MUST_CHECK
int fs_resize_open(struct fs *fs, struct fs_backed *node,
		   const struct fs_open_how *how, struct fs_handle **out);

#endif
