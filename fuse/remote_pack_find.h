/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_pack_find.h - what is in a pack in an object store, as nodes
 *
 * A pack is shown as one of a local mount is: by its own name, as a read-only
 * directory.  What is in it are nodes of paths that go on behind the object's.  They
 * hold on to one version of it; when that is replaced, the next lookup of its name
 * makes other ones.
 *
 * Layer: fuse.  Threads: any; what finds or makes a node may make requests.
 */
#ifndef B2F_FUSE_REMOTE_PACK_FIND_H
#define B2F_FUSE_REMOTE_PACK_FIND_H

#include "remote_node.h"

/*
 * Makes a node of the object @path, which is called like a pack, in no table yet.
 * Returns 0, B2F_ENOTFRAME (it is none, or has nothing in it), -ENOMEM, or as b2f_remote_open_pack().
 */
B2F_MUST_CHECK
int fs_remote_pack_find_root(struct fs *fs, const char *path,
			     struct fs_remote_node **out);

/*
 * The node of what is shown as @name in the directory @dir of a pack, with a
 * reference.  Returns 0, -ENOENT, -ENOMEM or an error of requests.
 */
B2F_MUST_CHECK
int fs_remote_pack_find(struct fs *fs, const struct fs_remote_node *dir,
			const char *name, struct fs_remote_node **out);

/* The names in @dir; give them back with fs_remote_names_put().  0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_remote_pack_find_names(const struct fs_remote_node *dir,
			      struct fs_remote_names **out);

#endif
