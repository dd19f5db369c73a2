/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume.h - a source of files with names and attributes: the tree, a pack, a
 * bucket
 *
 * A mount has one bucket, or a tree in which any file may be a pack.  The node
 * of a request names its volume (node.h).  ops.c and op_*.c answer all
 * requests; a volume finds, makes and changes files.
 *
 * An answer with a node, to a lookup or a create, gives the kernel one
 * reference.  All functions return 0 or an errno, which may also be an error of
 * the library.
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_VOLUME_H
#define B2F_FUSE_VOLUME_H

#include <limits.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "fs.h"
#include "fuse_api.h"

struct fs_answer;

/* A change of an extended attribute. */
struct fs_xattr_change {
	const char *name;
	/* NULL: remove it. */
	const char *value;
	size_t size;
	int flags;
};

typedef int fs_frame_fn(void *arg, struct b2f_frame *frame);

/* Extended attributes. */
struct fs_xattr_ops {
	/*
	 * Opens the stored frame of @inode, and returns the result of @fn.
	 * -ENODATA: @inode is not a frame.
	 */
	int (*with_frame)(struct fs *fs, struct fs_node *inode, fs_frame_fn *fn,
			  void *arg);
	/*
	 * The number of deleted rows (table_rows.h) in @frame, the frame of
	 * @inode.  NULL: no frame has any.
	 */
	int (*count_rows)(struct fs *fs, struct fs_node *inode,
			  const struct b2f_frame *frame, uint64_t *out);
	/*
	 * The value of a stored attribute, or -ENODATA; the names of all, each
	 * with a 0 behind it; and a change.  NULL: the volume stores none.
	 */
	int (*get_stored)(struct fs *fs, struct fs_node *inode, const char *name,
			  char **out, size_t *size);
	int (*list_stored)(struct fs *fs, struct fs_node *inode, FILE *f);
	int (*set)(struct fs *fs, struct fs_node *inode,
		   const struct fs_xattr_change *change);
};

/* Changes of files; only @link may be NULL: -EPERM. */
struct fs_change_ops {
	/* @handle: the open file of ftruncate(2), or NULL. */
	int (*setattr)(fuse_req_t req, struct fs_node *inode, const struct stat *attr,
		       int to_set, struct fs_handle *handle);
	int (*create)(fuse_req_t req, struct fs_node *dir, const char *name,
		      mode_t mode, const struct fs_open_how *how,
		      struct fuse_entry_param *out, struct fs_handle **handle);
	/* mknod(2), mkdir(2), symlink(2): makes @what, and does not open it. */
	int (*make)(fuse_req_t req, struct fs_node *dir, const char *name,
		    const struct fs_maker_what *what,
		    struct fuse_entry_param *out);
	int (*link)(fuse_req_t req, struct fs_node *inode, struct fs_node *dir,
		    const char *name, struct fuse_entry_param *out);
	/* @is_dir: rmdir(2), else unlink(2). */
	int (*remove)(fuse_req_t req, struct fs_node *dir, const char *name,
		      bool is_dir);
	int (*rename)(fuse_req_t req, struct fs_node *dir, const char *name,
		      struct fs_node *new_dir, const char *new_name,
		      unsigned int flags);
};

/* A function may be NULL only if its comment says so. */
struct fs_volume_ops {
	/* Looks up @name in @dir.  -ENOENT, -ENOTDIR. */
	int (*lookup)(struct fs *fs, struct fs_node *dir, const char *name,
		      struct fuse_entry_param *out);
	/*
	 * Frees @node, which has no references.  Returns a node that @node held
	 * a reference to, which the caller gives back, or NULL.
	 */
	struct fs_node *(*release)(struct fs_node *node);
	/*
	 * The kernel has freed its inode of @node, but keeps references of an
	 * earlier answer through another inode.  NULL: nothing to do.
	 */
	void (*made_again)(struct fs_node *node);
	int (*stat)(struct fs *fs, struct fs_node *inode, struct stat *out);
	int (*statfs)(struct fs *fs, struct fs_node *inode,
		      struct statvfs *out);
	/* NULL: there are no symbolic links. */
	int (*readlink)(struct fs *fs, struct fs_node *inode,
			char target[PATH_MAX + 1]);

	/* Opens a file, or its view.  Close *@out with fs_handle_close(). */
	int (*open)(struct fs *fs, struct fs_node *inode,
		    const struct fs_open_how *how, struct fs_handle **out);
	/* Opens a directory.  NULL: its names never change. */
	int (*opendir)(struct fs *fs, struct fs_node *inode,
		       const struct fs_open_how *how, struct fs_handle **out);
	/* Puts names from position @off on, until @answer is full. */
	int (*list)(struct fs *fs, struct fs_node *inode,
		    struct fs_handle *handle, off_t off,
		    struct fs_answer *answer);
	/* Makes the names in a directory durable.  NULL: they already are. */
	int (*sync_dir)(const struct fs_handle *handle);

	const struct fs_xattr_ops *xattr;
	/* NULL: the volume is only read. */
	const struct fs_change_ops *changes;
};

extern const struct fs_volume_ops fs_volume_tree, fs_volume_pack,
	fs_volume_bucket;

#endif
