/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_tree.h - changes of names and attributes in the tree, and its handles
 *
 * The contracts of the first ones are in volume.h.
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_VOLUME_TREE_H
#define B2F_FUSE_VOLUME_TREE_H

#include "volume.h"

extern const struct fs_change_ops fs_volume_tree_changes;
extern const struct fs_xattr_ops fs_volume_tree_xattr;

/* volume_tree_rename.c */
B2F_MUST_CHECK
int fs_volume_tree_rename(fuse_req_t req, struct fs_node *dir, const char *name,
			  struct fs_node *new_dir, const char *new_name,
			  unsigned int flags);

/* volume_tree_setattr.c */
B2F_MUST_CHECK
int fs_volume_tree_setattr(fuse_req_t req, struct fs_node *inode,
			   const struct stat *attr, int to_set,
			   struct fs_handle *handle);

/*
 * Like fs_tree_handle_open() with O_TRUNC: cuts the file to size 0.  An array
 * or a view that is opened for writing stays as it is until it has been written
 * again (anew.h).  A damaged sparse frame (B2F_ECORRUPT) becomes an empty one.
 * If the user is not root, the file loses its set-uid bits.  Returns also the
 * errors of fs_disk_frame_reset() and b2f_file_truncate().
 */
B2F_MUST_CHECK
int fs_volume_tree_open_cut(struct fs *fs, struct fs_backed *node,
			    const struct fs_open_how *how,
			    struct fs_handle **out);

/*
 * tree_handle.c: handles of frames, other files, directories.  All handles of
 * one frame share the state in open_frame.h.
 */

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
