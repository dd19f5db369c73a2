/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lookup.h - from a name in a directory to a node
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_LOOKUP_H
#define B2F_FUSE_LOOKUP_H

#include "entry.h"

/*
 * Finds what is shown as @entry.  Close @out->probe.
 *
 * Returns 0, -ENOENT, -ENAMETOOLONG (no such name, nor can there be one) or an
 * errno.
 */
B2F_MUST_CHECK
int fs_lookup_find(const struct fs_entry *entry, struct fs_found *out);

/* Returns 0 if nothing is there, -EEXIST, -ENAMETOOLONG or an errno. */
B2F_MUST_CHECK
int fs_lookup_check_free(const struct fs_entry *entry);

/*
 * Is @entry, which nothing has, the name of the .npy view of an array?  Such a
 * name may be taken, but there is nothing to delete or to rename.
 */
bool fs_lookup_has_view(const struct fs_entry *entry);

/*
 * Gets the node of @found at @entry, with a reference that is the kernel's, and
 * what to answer.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_lookup_node(const struct fs_entry *entry, const struct fs_found *found,
		   struct fuse_entry_param *answer, struct fs_node **out);

/* The same for whatever is shown as @entry, be it a view. */
B2F_MUST_CHECK
int fs_lookup_answer(const struct fs_entry *entry,
		     struct fuse_entry_param *answer, struct fs_node **out);

#endif
