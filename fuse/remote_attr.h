/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_attr.h - what stat(2) says of what is in an object store
 *
 * A store has no owners and no modes, so that all is the mount's: files that can
 * be written to are 0644, others 0444.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_REMOTE_ATTR_H
#define B2F_FUSE_REMOTE_ATTR_H

#include "remote_node.h"

/* The attributes of @entry. */
void fs_remote_attr(struct fs *fs, const struct fs_remote_entry *entry,
		    struct stat *out);

/* What a lookup that found @entry is answered. */
void fs_remote_attr_answer(struct fs *fs, const struct fs_remote_entry *entry,
			   struct fuse_entry_param *out);

#endif
