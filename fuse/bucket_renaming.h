/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_renaming.h - a file in an object store gets another name
 *
 * Its node goes along, and what has it open; what has the file open that is replaced
 * goes on with that, as with one that was removed.
 *
 * Layer: fuse.  Threads: any; makes requests.
 */
#ifndef B2F_FUSE_BUCKET_RENAMING_H
#define B2F_FUSE_BUCKET_RENAMING_H

#include "bucket_node.h"

/* A name in a directory. */
struct fs_bucket_where {
	struct fs_object *dir;
	const char *name;
};

/*
 * Renames @from to @to, as renameat2(2) with @flags.  Returns 0; -EXDEV (a directory,
 * a frame that is one object, or other bytes: mv(1) copies); -EPERM (a view, or a mount
 * of one frame), -EROFS (a pack), -EINVAL (flags), -EEXIST, -EISDIR, -ENOTDIR, -ENOENT;
 * -ESTALE (another client has changed @from: look it up again); as
 * fs_bucket_writer_commit() or b2f_remote_rename_frame().
 */
B2F_MUST_CHECK
int fs_bucket_rename(struct fs *fs, const struct fs_bucket_where *from,
		     const struct fs_bucket_where *to, unsigned int flags);

#endif
