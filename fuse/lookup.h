/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lookup.h - from a folder and a name to a node
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_LOOKUP_H
#define B2F_FUSE_LOOKUP_H

#include "fs.h"
#include "resolve.h"

/*
 * Finds what is shown as @name in @parent, whose descriptor is @dirfd.  Close
 * @out->probe.
 *
 * Returns 0, -ENOENT, -ENAMETOOLONG (no such name, nor can there be one) or an
 * errno.
 */
B2F_MUST_CHECK
int fs_lookup_find(struct fs *fs, struct fs_node *parent, int dirfd,
		   const char *name, struct fs_found *out);

/*
 * Gets the node of @found in @parent, with a reference that is the kernel's,
 * and what to answer.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_lookup_node(struct fs *fs, struct fs_node *parent,
		   const struct fs_found *found,
		   struct fuse_entry_param *answer, struct fs_node **out);

/* Both together. */
B2F_MUST_CHECK
int fs_lookup_entry(struct fs *fs, struct fs_node *parent, int dirfd,
		    const char *name, struct fuse_entry_param *answer,
		    struct fs_node **out);

#endif
