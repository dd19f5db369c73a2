/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_listing.h - the names in a directory, as the store has listed them
 *
 * What this mount has changed since is in bucket_changes.h.
 *
 * Layer: fuse.  Threads: any; _get makes requests.
 */
#ifndef B2F_FUSE_BUCKET_LISTING_H
#define B2F_FUSE_BUCKET_LISTING_H

#include "bucket_node.h"

/*
 * The names in the directory @dir, no older than attr_timeout; give them back with
 * fs_bucket_names_put().  Returns as fs_bucket_names_read().
 */
B2F_MUST_CHECK
int fs_bucket_listing_get(struct fs_bucket *bucket, struct fs_object *dir,
			  struct fs_bucket_names **out);

/* The next _get asks the store. */
void fs_bucket_listing_forget(struct fs_bucket *bucket,
			      struct fs_object *dir);

/* Is it the directory of a mount of a single frame, which never changes? */
bool fs_bucket_listing_is_fixed(const struct fs_object *dir);

#endif
