/* SPDX-License-Identifier: BSD-3-Clause */
/* volume.c - what knows the names and attributes of files: the tree, a pack, a bucket */
#include "volume.h"

#include <fcntl.h>

#include "pack_handle.h"
#include "packs.h"
#include "remote_handle.h"
#include "resize.h"
#include "tree_handle.h"

static int open_tree(struct fs *fs, fuse_ino_t ino,
		     const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_node *node = fs_node_of(fs, ino);

	return how->flags & O_TRUNC ? fs_resize_open(fs, node, how, out)
				    : fs_tree_handle_open(fs, node, how, out);
}

static int open_pack(struct fs *fs, fuse_ino_t ino,
		     const struct fs_open_how *how, struct fs_handle **out)
{
	return fs_pack_handle_open(fs, fs_packs_node(fs, ino), how->flags, out);
}

static int open_bucket(struct fs *fs, fuse_ino_t ino,
		       const struct fs_open_how *how, struct fs_handle **out)
{
	const struct fs_remote_entry entry =
		fs_remote_entry_of(fs->remote, ino);

	return fs_remote_handle_open(fs, &entry, how->flags, out);
}

static const struct fs_volume_ops tree = {.open = open_tree};
static const struct fs_volume_ops pack = {.open = open_pack};
static const struct fs_volume_ops bucket = {.open = open_bucket};

const struct fs_volume_ops *fs_volume_of(const struct fs *fs, fuse_ino_t ino)
{
	if (fs->remote)
		return &bucket;
	return fs_packs_has(fs, ino) ? &pack : &tree;
}
