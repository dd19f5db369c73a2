/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_handle.h - handles of the tree: frames, other files, directories
 *
 * All handles of one frame share the state in open_frame.h.
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_TREE_HANDLE_H
#define B2F_FUSE_TREE_HANDLE_H

#include "fs.h"

/*
 * Opens the frame or other file @node.  Close *@out with fs_handle_close().
 *
 * Returns 0, -ENFILE (the user has more than an even share of all handles),
 * -ESTALE (deleted or changed: the kernel must look it up again), B2F_ECORRUPT,
 * B2F_EUNSUPPORTED, B2F_ETOOBIG or an errno; for writing to a frame also the
 * errors of b2f_file_allow_write().
 */
B2F_MUST_CHECK
int fs_tree_handle_open(struct fs *fs, struct fs_backed *node,
			const struct fs_open_how *how, struct fs_handle **out);

/*
 * Like fs_tree_handle_open(), for a new frame that is still open as @frame;
 * takes @frame over.
 */
B2F_MUST_CHECK
int fs_tree_handle_open_made(struct fs *fs, struct fs_backed *node,
			     struct b2f_frame *frame,
			     const struct fs_open_how *how,
			     struct fs_handle **out);

/*
 * Makes a handle of @listing for @uid, and takes it over.  Returns 0 or an
 * errno.
 */
B2F_MUST_CHECK
int fs_tree_handle_open_listing(struct fs *fs, struct fs_backed *node,
				struct fs_listing *listing, uid_t uid,
				struct fs_handle **out);

#endif
