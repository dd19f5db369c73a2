/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_find.h - looks up a name in a directory of an object store
 *
 * Layer: fuse.  Threads: any; makes requests.
 */
#ifndef B2F_FUSE_BUCKET_FIND_H
#define B2F_FUSE_BUCKET_FIND_H

#include "bucket_node.h"

/*
 * Finds the current node of @name in the directory @dir, or its view, with one
 * more reference.  Returns 0, -ENOENT, -ENOTDIR, -ENOMEM, or an error of
 * requests (b2frame/remote.h).
 */
B2F_MUST_CHECK
int fs_bucket_find(struct fs *fs, struct fs_object *dir, const char *name,
		   struct fs_node **out);

/*
 * The same without views, from the listing @names of @dir and what this mount
 * has changed since.
 */
B2F_MUST_CHECK
int fs_bucket_find_shown(struct fs *fs, const struct fs_object *dir,
			 const struct fs_bucket_names *names, const char *name,
			 struct fs_object **out);

/*
 * Opens the object @path, which has the name of a pack; *@out has a reference.
 * Returns 0, B2F_ENOTFRAME (it is no pack, or empty), -ENOMEM, or as
 * b2f_remote_open_pack().
 */
B2F_MUST_CHECK
int fs_bucket_find_pack(struct fs *fs, const char *path, struct fs_pack **out);

/*
 * Returns the names in @dir, at most attr_timeout old.  Give them back with
 * fs_bucket_names_put().  Returns -ENOTDIR, or as fs_bucket_names_read().
 */
B2F_MUST_CHECK
int fs_bucket_listing_get(struct fs_bucket *bucket, struct fs_object *dir,
			  struct fs_bucket_names **out);

/*
 * The same with what this mount has changed since.  Unless it @looks at them,
 * names of removed files whose chunks are left are among them.
 */
B2F_MUST_CHECK
int fs_bucket_listing_names(struct fs *fs, struct fs_object *dir, bool looks,
			    struct fs_bucket_names **out);

/* Has the next _get list the directory again. */
void fs_bucket_listing_forget(struct fs_bucket *bucket,
			      struct fs_object *dir);

/* Is @dir the root of a mount of a single frame, whose names never change? */
bool fs_bucket_listing_is_fixed(const struct fs_object *dir);

#endif
