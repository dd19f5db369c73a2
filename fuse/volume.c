/* SPDX-License-Identifier: BSD-3-Clause */
/* volume.c - what knows the names and attributes of files */
#include "volume.h"

#include "packs.h"

const struct fs_volume_ops *fs_volume_of(const struct fs *fs, fuse_ino_t ino)
{
	if (fs_packs_has(fs, ino))
		return &fs_volume_pack;
	return fs->bucket ? &fs_volume_bucket : &fs_volume_tree;
}
