/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packs.h - packs (stores that are one file), shown as directories
 *
 * A file that is a pack (b2frame/pack.h) is shown as a read-only directory by
 * its own name.  Its members have no backing files, so they are no nodes of the
 * tree (tree.h): a pack has an array of nodes, which lives as long as one of
 * them has a reference; the root counts the references to all.
 *
 * A pack is one version of the file.  If the file is replaced or changed, the
 * next lookup of its name makes another pack with other nodes.  After a
 * replacement, members that are open stay readable; other requests to the old
 * pack get ESTALE, so that the kernel looks the name up again.  If the file was
 * overwritten in place, all requests get ESTALE, because its bytes may be of
 * two versions.
 *
 * The kernel remembers nodes for long, so the file is open only while it is
 * used, and a second longer.  An object in a bucket stays open, because opening
 * it takes requests; it is one version in any case.
 *
 * Layer: fuse.
 *
 * Threads: any.  All packs are under fs->state_lock, which is never held during
 * I/O.  All that may return an errno may block on I/O.
 */
#ifndef B2F_FUSE_PACKS_H
#define B2F_FUSE_PACKS_H

#include "b2frame/pack.h"
#include "fs.h"
#include "sizes.h"

struct fs_member {
	struct fs_node head;
	/* The .npy view, if the member is an array. */
	struct fs_node as_view;
	struct fs_pack *pack;
	/* The inode number to show. */
	uint64_t ino;
	/*
	 * The frame, open while it has handles, and in a bucket a while longer.
	 * NULL before the first open.
	 */
	struct fs_file *file;
	/* The sizes, which never change once they are known. */
	struct fs_sizes_shown sizes;
};

struct fs_pack {
	/* These never change. */
	struct fs *fs;
	char *label;
	/* Its directory and name; NULL for the root, and in a bucket. */
	struct fs_backed *dir;
	char *name;
	/*
	 * The path in a bucket, else NULL.  Such a pack stays open, because
	 * opening it takes requests; it stays one version.
	 */
	char *path;
	struct b2f_frame_stamp stamp;
	/*
	 * A node for each entry.  The first, the directory shown for the pack,
	 * counts the references to all.
	 */
	struct fs_member *nodes;
	size_t nentries;

	/* All below is under the lock. */
	TAILQ_ENTRY(fs_pack) all;
	/* Attributes of the file, as if it were a plain one. */
	struct stat st;
	/* Open while it is used, and a while longer. */
	struct fs_file open;
};

/* Gives back a reference to @pack. */
static inline void fs_packs_put(struct fs_pack *pack)
{
	fs_node_put(&pack->nodes[0].head, 1);
}

/* Closes everything; no request is running any more. */
void fs_packs_fini(struct fs *fs);

/*
 * Opens SOURCE, a pack, as the root of the mount.  Errors: b2f_pack_open()'s.
 */
B2F_MUST_CHECK
int fs_packs_open_root(struct fs *fs);

/*
 * Is @name in the backing directory @dirfd a pack?  Looks at the content, if
 * the name is one of a pack.  Returns 1, 0, or an errno if that is unknown.
 */
B2F_MUST_CHECK
int fs_packs_look(struct fs *fs, int dirfd, const char *name);

/*
 * If @name in the directory @dir of the tree is a pack, answers with its root,
 * with a reference for the kernel.  A pack that cannot be opened is logged, and
 * shown as a file.
 *
 * Returns 1, 0 (it is no pack) or an errno.
 */
B2F_MUST_CHECK
int fs_packs_enter(struct fs *fs, struct fs_node *dir, const char *name,
		   struct fuse_entry_param *answer);

/*
 * Returns 1 (@name is an empty pack), 0 (it is no pack), -ENOTEMPTY or another
 * errno.
 */
B2F_MUST_CHECK
int fs_packs_look_inside(struct fs *fs, struct fs_node *dir, const char *name);

/*
 * Adds the object @path of the bucket, open as @opened and shown with the
 * attributes @st, to the list, or takes the pack that another thread added;
 * with a reference.  Closes @opened after an error, too.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_packs_adopt(struct fs *fs, const char *path, struct b2f_pack *opened,
		   const struct stat *st, struct fs_pack **out);

/*
 * Returns the pack of this version at @path in a bucket (NULL: in the tree),
 * with a reference; or NULL.
 */
struct fs_pack *fs_packs_known(struct fs *fs, const char *path,
			       const struct b2f_frame_stamp *stamp);

/*
 * Answers with @inode, whose pack is in use; the kernel gets a reference.
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_packs_answer(struct fs *fs, struct fs_node *inode,
		    struct fuse_entry_param *answer);

#endif
