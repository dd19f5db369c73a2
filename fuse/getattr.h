/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * getattr.h - attributes for stat(2)
 *
 * A frame has mode, owner and times of its index, its own decoded size, and the
 * inode number of its directory or file.  Options like uid= override them.
 *
 * Layer: fuse.  Threads: any; fs_getattr() may block on I/O.
 */
#ifndef B2F_FUSE_GETATTR_H
#define B2F_FUSE_GETATTR_H

#include "fs.h"
#include "probe.h"

/*
 * Gets the attributes of @node; for an open frame they include uncommitted
 * changes.  Returns 0, -ESTALE or an errno.
 */
B2F_MUST_CHECK
int fs_getattr(struct fs *fs, struct fs_backed *node, struct stat *out);

/* Attributes of a closed file that was just looked at. */
void fs_getattr_of_probe(const struct fs *fs, const struct fs_probe *probe,
			 struct stat *out);

/*
 * Gets the attributes of @node, which was just looked at, and may be open.
 * Returns as fs_getattr().
 */
B2F_MUST_CHECK
int fs_getattr_of_found(struct fs *fs, struct fs_backed *node,
			const struct fs_probe *probe, struct stat *out);

/*
 * The inode number to show for @ino on @dev.  Files on other devices than the
 * root's get other numbers, because tar would take two files with one number
 * for one file.
 */
uint64_t fs_getattr_ino(const struct fs *fs, dev_t dev, uint64_t ino);

#endif
