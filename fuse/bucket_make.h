/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_make.h - names in an object store that come and go
 *
 * A new file is a sparse frame, of which nothing is in the store before its first
 * commit.  A new directory is an empty object DIR/, as other clients make them; one
 * without it is there as long as a name is in it.
 *
 * Layer: fuse.  Threads: any; makes requests.
 */
#ifndef B2F_FUSE_BUCKET_MAKE_H
#define B2F_FUSE_BUCKET_MAKE_H

#include "bucket_node.h"
#include "suffix.h"

/*
 * Chooses what a sparse frame that is to be shown as @name in @dir is stored as there.
 * Returns as fs_bucket_make_file().
 */
B2F_MUST_CHECK
int fs_bucket_make_name(struct fs *fs, struct fs_object *dir,
			const char *name, char out[FS_NAME_SIZE]);

/* Notes that @name is no more in @dir, which stays.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_bucket_make_gone(struct fs *fs, const struct fs_object *dir,
			const char *name);

/*
 * Makes the file @name in @dir, which is not there; *@out has a reference.  -EEXIST:
 * another client was faster, or what is stored has no other name; -ENAMETOOLONG,
 * -EPERM (no file is called so, or the mount has one frame only), -ENOMEM, or an
 * error of requests.
 */
B2F_MUST_CHECK
int fs_bucket_make_file(struct fs *fs, struct fs_object *dir,
			const char *name, struct fs_bucket_entry *out);

/* The same with a directory. */
B2F_MUST_CHECK
int fs_bucket_make_dir(struct fs *fs, struct fs_object *dir,
		       const char *name, struct fs_bucket_entry *out);

/*
 * Removes the file @name from @dir; what has it open goes on with it.  Returns 0,
 * -EISDIR, -EPERM (a view), or as fs_bucket_find().
 */
B2F_MUST_CHECK
int fs_bucket_unlink(struct fs *fs, struct fs_object *dir,
		     const char *name);

/* Removes the empty directory @name.  Also -ENOTDIR, -ENOTEMPTY. */
B2F_MUST_CHECK
int fs_bucket_rmdir(struct fs *fs, struct fs_object *dir,
		    const char *name);

#endif
