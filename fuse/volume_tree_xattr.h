/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_tree_xattr.h - extended attributes of the tree
 *
 * The contracts are in struct fs_volume_ops.
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_VOLUME_TREE_XATTR_H
#define B2F_FUSE_VOLUME_TREE_XATTR_H

#include "volume.h"

B2F_MUST_CHECK
int fs_volume_tree_with_frame(struct fs *fs, struct fs_node *inode,
			      fs_frame_fn *fn, void *arg);
B2F_MUST_CHECK
int fs_volume_tree_get_rows(struct fs *fs, struct fs_node *inode,
			    const struct b2f_frame *frame, char **out,
			    size_t *size);
B2F_MUST_CHECK
int fs_volume_tree_get_stored(struct fs *fs, struct fs_node *inode,
			      const char *name, char **out, size_t *size);
B2F_MUST_CHECK
int fs_volume_tree_list_stored(struct fs *fs, struct fs_node *inode, FILE *f);
B2F_MUST_CHECK
int fs_volume_tree_set_xattr(struct fs *fs, struct fs_node *inode,
			     const struct fs_xattr_change *change);

#endif
