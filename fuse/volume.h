/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume.h - what knows the names and attributes of files: the tree, a pack, a bucket
 *
 * A mount has one bucket, or a tree in which any file may be a pack.  What a request
 * is about tells the number of the inode.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_VOLUME_H
#define B2F_FUSE_VOLUME_H

#include "fs.h"

struct fs_volume_ops {
	/*
	 * Opens the file @ino, or its view.  Close *@out with fs_handle_close().
	 * Returns 0 or an errno.
	 */
	int (*open)(struct fs *fs, fuse_ino_t ino,
		    const struct fs_open_how *how, struct fs_handle **out);
};

/* The volume of the node that the kernel calls @ino. */
const struct fs_volume_ops *fs_volume_of(const struct fs *fs, fuse_ino_t ino);

#endif
