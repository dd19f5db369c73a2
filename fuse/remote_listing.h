/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_listing.h - the names in a directory, as the store has listed them
 *
 * What this mount has changed since is in remote_changes.h.
 *
 * Layer: fuse.  Threads: any; _get makes requests.
 */
#ifndef B2F_FUSE_REMOTE_LISTING_H
#define B2F_FUSE_REMOTE_LISTING_H

#include "remote_node.h"

/*
 * The names in the directory @dir, no older than attr_timeout; give them back with
 * fs_remote_names_put().  Returns as fs_remote_names_read().
 */
B2F_MUST_CHECK
int fs_remote_listing_get(struct fs_remote *remote, struct fs_remote_node *dir,
			  struct fs_remote_names **out);

/* The next _get asks the store. */
void fs_remote_listing_forget(struct fs_remote *remote,
			      struct fs_remote_node *dir);

/* Is it the directory of a mount of a single frame, which never changes? */
bool fs_remote_listing_is_fixed(const struct fs_remote_node *dir);

#endif
