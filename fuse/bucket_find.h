/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_find.h - what a name in a directory of an object store is now
 *
 * Layer: fuse.  Threads: any; makes requests.
 */
#ifndef B2F_FUSE_BUCKET_FIND_H
#define B2F_FUSE_BUCKET_FIND_H

#include "bucket_node.h"

/*
 * Finds the current node of @name in the directory @dir, with one more
 * reference.  Returns 0, -ENOENT, -ENOTDIR, -ENOMEM, or an error of requests
 * (b2frame/remote.h).
 */
B2F_MUST_CHECK
int fs_bucket_find(struct fs *fs, struct fs_object *dir,
			const char *name, struct fs_bucket_entry *out);

/*
 * Opens the object @path, which is called like a pack; *@out has a reference.  Returns
 * 0, B2F_ENOTFRAME (it is none, or has nothing in it), -ENOMEM, or as
 * b2f_remote_open_pack().
 */
B2F_MUST_CHECK
int fs_bucket_find_pack(struct fs *fs, const char *path, struct fs_pack **out);

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
