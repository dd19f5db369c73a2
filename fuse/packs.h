/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packs.h - stores that are one file, as directories
 *
 * A file that is a pack (b2frame/pack.h) is shown as a read-only directory by
 * its own name.  What is in it has no files below, so it is none of the tree's
 * (tree.h): the nodes of a pack are an array that lives as long as the kernel
 * knows one of them, and their numbers have a bit that no address of a tree
 * node has.  fs_volume_of() tells the two apart.
 *
 * A pack is one version of the file.  If that is replaced or changed, the next
 * lookup of its name makes another pack, with other nodes.  Of a file that was
 * replaced, the old pack goes on with what it has open.  All else there is
 * ESTALE, so that the kernel looks it up again; so is all of a file that was
 * written to in place: its bytes may be of two versions.
 *
 * The kernel remembers nodes for long, so the file is open only as long as it
 * is used, and a second more.  An object in a bucket stays open, as to open it takes
 * requests: all of it is one version.
 *
 * Layer: fuse.
 *
 * Threads: any.  One lock for all packs, never held during I/O.
 */
#ifndef B2F_FUSE_PACKS_H
#define B2F_FUSE_PACKS_H

#include "pack_node.h"

/*
 * The bit in the number of a node; addresses of nodes are multiples of 8.  Nodes of a
 * bucket have another one (bucket_node.h).
 */
#define FS_PACK_BIT 4

/* Is @ino a node of a pack? */
static inline bool fs_packs_has(const struct fs *fs, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? fs->packs.root != NULL
				   : (ino & FS_PACK_BIT) != 0;
}

/* The node that the kernel calls @ino. */
static inline struct fs_pack_node *fs_packs_node(const struct fs *fs,
						 fuse_ino_t ino)
{
	if (ino == FUSE_ROOT_ID)
		return fs->packs.root;
	return (struct fs_pack_node *)(uintptr_t)(ino ^ FS_PACK_BIT);
}

/*
 * Opens @pack->pack until fs_packs_unuse(); the caller has a reference.
 * Returns 0, -ESTALE (there is another file or version now) or an errno.
 */
B2F_MUST_CHECK
int fs_packs_use(struct fs *fs, struct fs_pack *pack);

void fs_packs_unuse(struct fs *fs, struct fs_pack *pack);

/* Closes what is not used any more.  Returns whether there is more to come. */
bool fs_packs_tick(struct fs *fs);

/* Takes one more reference to @pack. */
void fs_packs_ref(struct fs *fs, struct fs_pack *pack);

/* Gives back @n references to @pack. */
void fs_packs_put(struct fs *fs, struct fs_pack *pack, uint64_t n);

void fs_packs_init(struct fs_packs *packs);

/* Closes everything; no request is running any more. */
void fs_packs_fini(struct fs *fs);

/* Opens SOURCE, a pack, as the root of the mount.  Errors: b2f_pack_open()'s. */
B2F_MUST_CHECK
int fs_packs_open_root(struct fs *fs);

/*
 * Is @name in the backing directory @dirfd a pack?  By content, if it is called
 * like one.  Returns 1, 0, or an errno that is no answer.
 */
B2F_MUST_CHECK
int fs_packs_look(struct fs *fs, int dirfd, const char *name);

/*
 * If @name in @dir (descriptor @dirfd) is a pack: answers with its root, which
 * has a reference for the kernel then.  What cannot be opened is logged, and
 * is no pack: it is shown as the file it is.
 *
 * Returns 1, 0 (it is none) or an errno.
 */
B2F_MUST_CHECK
int fs_packs_enter(struct fs *fs, struct fs_node *dir, int dirfd,
		   const char *name, struct fuse_entry_param *answer);

/* Is @name one, and is nothing in it?  Returns as fs_packs_enter(). */
B2F_MUST_CHECK
int fs_packs_look_inside(struct fs *fs, struct fs_node *dir, int dirfd,
			 const char *name, bool *empty);

/* An object in a bucket, open as @pack. */
struct fs_pack_found {
	struct b2f_pack *pack;
	/* What the bucket is called, where the object is in it, and its attributes. */
	const char *label;
	const char *path;
	struct stat st;
	/* The number that is shown for a path. */
	uint64_t (*number_of)(const char *path);
};

/*
 * Makes it known, or takes what another thread has made; with a reference.  Closes
 * @found->pack after an error, too.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_packs_adopt(struct fs *fs, const struct fs_pack_found *found,
		   struct fs_pack **out);

/*
 * The pack of that very version, which is at @path in a bucket (NULL: in the tree),
 * with a reference; or NULL.
 */
struct fs_pack *fs_packs_known(struct fs *fs, const char *path,
			       const struct b2f_frame_stamp *stamp);

/*
 * Answers with @node, of a pack in use; the kernel has one more reference to it.
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_packs_answer(struct fs *fs, struct fs_pack_node *node,
		    struct fuse_entry_param *answer);

/*
 * Finds @name in the directory @dir, of which it may be a view, and answers
 * with it as above.  From here on the pack has to be in use.  Returns 0, -ENOENT,
 * -ENOTDIR or an errno.
 */
B2F_MUST_CHECK
int fs_packs_lookup(struct fs *fs, struct fs_pack_node *dir, const char *name,
		    struct fuse_entry_param *answer);

/* Gives back @n references of the kernel; the pack may go with the last. */
void fs_packs_forget(struct fs *fs, struct fs_pack_node *node, uint64_t n);

#endif
