/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_make.h - makes, removes and renames names in an object store
 *
 * A new file is a sparse frame, which the store gets with its first commit.  A
 * new directory is an empty object DIR/, as other clients make them; a
 * directory without that object exists while it has names.
 *
 * Layer: fuse.  Threads: any; makes requests.
 */
#ifndef B2F_FUSE_BUCKET_MAKE_H
#define B2F_FUSE_BUCKET_MAKE_H

#include "bucket_node.h"

/*
 * Makes the new file @name in @dir; *@out has a reference.  -EEXIST: another
 * client made it first, or each name under which it could be stored is taken;
 * -ENAMETOOLONG, -EPERM (not a name of a file, or the mount has only one
 * frame), -ENOMEM, or an error of requests.
 */
B2F_MUST_CHECK
int fs_bucket_make_file(struct fs *fs, struct fs_object *dir, const char *name,
			struct fs_object **out);

/* The same for a directory. */
B2F_MUST_CHECK
int fs_bucket_make_dir(struct fs *fs, struct fs_object *dir, const char *name,
		       struct fs_node **out);

/*
 * Removes the new file @made, which could not be opened, and gives it back.  If
 * it could not be stored, the object of that name, if there is one now, is
 * another client's.
 */
void fs_bucket_unmake(fuse_req_t req, struct fs_node *dir, const char *name,
		      struct fs_object *made);

/* The next two are as in struct fs_change_ops. */

/*
 * Removes the file @name from @dir, whose handles stay usable, or the empty
 * directory @name.  Returns 0, -EISDIR, -ENOTDIR, -ENOTEMPTY, -EPERM (a view),
 * -EROFS (a pack), or as fs_bucket_find().
 */
B2F_MUST_CHECK
int fs_bucket_remove(fuse_req_t req, struct fs_node *dir, const char *name,
		     bool is_dir);

/*
 * Renames @name as renameat2(2) with @flags.  The node and its open handles go
 * along; handles of a replaced file keep it, as after an unlink.  Returns 0;
 * -EXDEV (a directory, a frame that is one object, or plain bytes: mv(1)
 * copies); -EPERM (a view, or a mount of one frame), -EROFS (a pack), -EINVAL
 * (flags), -EEXIST, -EISDIR, -ENOTDIR, -ENOENT; -ESTALE (another client has
 * changed @name: look it up again); as fs_bucket_writer_commit() or
 * b2f_remote_rename_frame().
 */
B2F_MUST_CHECK
int fs_bucket_rename(fuse_req_t req, struct fs_node *dir, const char *name,
		     struct fs_node *new_dir, const char *new_name,
		     unsigned int flags);

#endif
