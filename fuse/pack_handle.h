/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_handle.h - handles of packs: members, frames or not, which are only read
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_PACK_HANDLE_H
#define B2F_FUSE_PACK_HANDLE_H

#include "pack_node.h"

/*
 * Opens @node with the @flags of open(2); the handle keeps its pack, and in use.  Close
 * *@out with fs_handle_close().  Returns 0, -EROFS, -ENOMEM, or as fs_packs_use() and
 * fs_pack_node_open().
 */
B2F_MUST_CHECK
int fs_pack_handle_open(struct fs *fs, struct fs_pack_node *node, int flags,
			struct fs_handle **out);

#endif
