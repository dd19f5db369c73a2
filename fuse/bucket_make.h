/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_make.h - names in an object store that come and go, or change
 *
 * A new file is a sparse frame, which is not in the store before its first
 * commit.  A new directory is an empty object DIR/, as other clients make
 * them; a directory without it exists as long as a name is in it.
 *
 * Layer: fuse.  Threads: any; makes requests.
 */
#ifndef B2F_FUSE_BUCKET_MAKE_H
#define B2F_FUSE_BUCKET_MAKE_H

#include "bucket_node.h"

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
 * Removes the file @name from @dir; handles of it stay usable.  Returns 0,
 * -EISDIR, -EPERM (a view), or as fs_bucket_find().
 */
B2F_MUST_CHECK
int fs_bucket_unlink(struct fs *fs, struct fs_object *dir,
		     const char *name);

/* Removes the empty directory @name.  Also -ENOTDIR, -ENOTEMPTY. */
B2F_MUST_CHECK
int fs_bucket_rmdir(struct fs *fs, struct fs_object *dir,
		    const char *name);

/* A name in a directory. */
struct fs_bucket_where {
	struct fs_object *dir;
	const char *name;
};

/*
 * Renames @from to @to, as renameat2(2) with @flags.  Its node goes along, and what has
 * it open; what has the file open that is replaced goes on with that, as with one that
 * was removed.  Returns 0; -EXDEV (a directory,
 * a frame that is one object, or other bytes: mv(1) copies); -EPERM (a view, or a mount
 * of one frame), -EROFS (a pack), -EINVAL (flags), -EEXIST, -EISDIR, -ENOTDIR, -ENOENT;
 * -ESTALE (another client has changed @from: look it up again); as
 * fs_bucket_writer_commit() or b2f_remote_rename_frame().
 */
B2F_MUST_CHECK
int fs_bucket_rename(struct fs *fs, const struct fs_bucket_where *from,
		     const struct fs_bucket_where *to, unsigned int flags);

#endif
