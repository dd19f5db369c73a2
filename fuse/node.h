/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node.h - what the kernel knows by a number: the same for each volume
 *
 * What a volume knows of a file (tree.h, packs.h, bucket_node.h) begins with a struct
 * fs_inode, whose address is the number that the kernel has; 1 is the root of the
 * mount.  Here is who counts references, and who gives numbers.
 *
 * A node stays as long as there is a reference: of a lookup by the kernel, of a handle,
 * of a request.  The last one that is given back takes it: from then on the tables of
 * the volume lead to it no more (fs_node_try_ref()), and the volume frees it.  A root has
 * one that is never given back.
 *
 * Layer: fuse.  Threads: any.  No lock is taken here.
 */
#ifndef B2F_FUSE_NODE_H
#define B2F_FUSE_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fuse_api.h"

struct fs;
struct fs_volume_ops;

/* A volume of nodes; the struct that @ops work on begins with it. */
struct fs_volume {
	const struct fs_volume_ops *ops;
	struct fs *fs;
};

/* The nodes of a mount. */
struct fs_nodes {
	/* The node with the kernel's number 1. */
	struct fs_node *root;
	_Atomic uint64_t last_generation;
};

struct fs_node {
	/* These never change. */
	struct fs_volume *volume;
	/* The one that counts the references to this one, too; or NULL. */
	struct fs_node *owner;
	/* Tells it from one that had its address before. */
	uint64_t generation;
	_Atomic uint64_t nrefs;
	/* Of these, the kernel's. */
	_Atomic uint64_t nlookups;
	/*
	 * The size in the answers that gave them, and whether they had several.
	 */
	_Atomic int64_t told_size;
	_Atomic bool told_sizes;
};

/* Makes @node, which the caller has cleared, with one reference. */
void fs_node_init(struct fs_node *node, struct fs_volume *volume,
		  struct fs_node *owner);

/* The node that the kernel calls @ino, and back. */
struct fs_node *fs_node_of(const struct fs *fs, fuse_ino_t ino);
fuse_ino_t fs_node_number(const struct fs_node *node);

/* Takes one more reference to @node, of which the caller has one. */
void fs_node_ref(struct fs_node *node);

/*
 * The same of a node that a table leads to, under the lock of that: false if its last
 * reference has gone.
 */
bool fs_node_try_ref(struct fs_node *node);

/* Gives back @n references.  NULL does nothing.  No lock is held. */
void fs_node_put(struct fs_node *node, uint64_t n);

/* An answer with @size gives the kernel a reference to @ino; it is about to be sent. */
void fs_node_tell(struct fs *fs, fuse_ino_t ino, int64_t size);

/* The kernel gives back @n references to @ino. */
void fs_node_forget(struct fs *fs, fuse_ino_t ino, uint64_t n);

/*
 * Begins the answer with @node, whose attributes are to be filled in; the kernel gets a
 * reference that the caller has.
 */
struct fuse_entry_param fs_node_answer(const struct fs_node *node);

/*
 * Has the kernel drop its pages of @node.  Returns whether it has none now.
 * Not from a request for which the kernel may hold pages.
 */
bool fs_node_drop_cached(const struct fs_node *node);

#endif
