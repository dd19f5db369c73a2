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
 * Returns 0, -ENOENT, -ENAMETOOLONG (no file can have this name) or an errno.
 */
B2F_MUST_CHECK
int fs_lookup_find(const struct fs_entry *entry, struct fs_found *out);

/*
 * Returns 0 if nothing is shown as @entry, -EEXIST, -ENAMETOOLONG or an errno.
 */
B2F_MUST_CHECK
int fs_lookup_check_free(const struct fs_entry *entry);

/*
 * Is @entry, where no file is, the name of the .npy view of an array?  A new
 * file may have such a name, but there is nothing to delete or to rename.
 */
bool fs_lookup_has_view(const struct fs_entry *entry);

/*
 * Gets the node of @found at @entry, with a reference for the kernel, and the
 * answer.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_lookup_node(const struct fs_entry *entry, const struct fs_found *found,
		   struct fuse_entry_param *answer, struct fs_backed **out);

/*
 * The same of what a listing has found as @entry: of @found if that is a frame,
 * otherwise as fs_lookup_answer().
 */
B2F_MUST_CHECK
int fs_lookup_listed(const struct fs_entry *entry, struct fs_found *found,
		     struct fuse_entry_param *answer, struct fs_backed **out);

/* Finds what is shown as @entry, or its view, and gets the same of it. */
B2F_MUST_CHECK
int fs_lookup_answer(const struct fs_entry *entry,
		     struct fuse_entry_param *answer, struct fs_backed **out);

#endif
