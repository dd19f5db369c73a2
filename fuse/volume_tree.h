/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_tree.h - changes of names and attributes in the tree
 *
 * The contracts are in volume.h.
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

#endif
