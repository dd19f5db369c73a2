/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node.h - nodes: the inodes that the kernel knows, the same for each volume
 *
 * A volume's struct for a file (tree.h, packs.h, bucket_node.h) begins with a
 * struct fs_node, whose address is the kernel's inode number; 1 is the root of
 * the mount.  This file counts references and gives numbers.
 *
 * A node lives as long as it has references: of the kernel (lookups), of
 * handles, of requests.  When the last reference is given back, the tables of
 * the volume no longer lead to the node (fs_node_try_ref()), and the volume
 * frees it.  A root has a reference that is never given back.
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
	/* Volume, owner and generation never change. */
	struct fs_volume *volume;
	/* The node that counts the references to this one, too; or NULL. */
	struct fs_node *owner;
	/* It is NAME.npy, the view of an array.  Never changes. */
	bool is_view;
	/* Tells this node from an earlier one at the same address. */
	uint64_t generation;
	_Atomic uint64_t nrefs;
	/* The kernel's share of nrefs. */
	_Atomic uint64_t nlookups;
	/* The size told in these lookups, and whether sizes differed. */
	_Atomic int64_t told_size;
	_Atomic bool told_sizes;
};

/* Makes @node, which the caller has cleared, with one reference. */
void fs_node_init(struct fs_node *node, struct fs_volume *volume,
		  struct fs_node *owner);

/* The node with the kernel's number @ino. */
struct fs_node *fs_node_of(const struct fs *fs, fuse_ino_t ino);

/* Takes one more reference; the caller has one already. */
void fs_node_ref(struct fs_node *node);

/*
 * Takes a reference through a table of the volume, under its lock; false if the
 * last one is gone.
 */
bool fs_node_try_ref(struct fs_node *node);

/* Gives back @n references.  NULL does nothing.  The caller holds no lock. */
void fs_node_put(struct fs_node *node, uint64_t n);

/* Notes a reference and @size for the kernel, before the answer is sent. */
void fs_node_tell(struct fs *fs, fuse_ino_t ino, int64_t size);

/* The kernel gives back @n references to @ino. */
void fs_node_forget(struct fs *fs, fuse_ino_t ino, uint64_t n);

/*
 * Begins the answer with @node, whose attributes the caller fills in.  The
 * caller's reference goes to the kernel.
 */
struct fuse_entry_param fs_node_answer(const struct fs_node *node);

/*
 * Has the kernel ask for the attributes of @ino again.  Call it only while a
 * program has the file open: the kernel waits if it is forgetting the inode,
 * which waits for requests that write pages back.
 */
void fs_node_drop_attributes(const struct fs *fs, fuse_ino_t ino);

/*
 * Has the kernel drop its pages of @node.  Returns whether it has none now.  Do
 * not call it in a request for which the kernel may hold pages.
 */
bool fs_node_drop_cached(const struct fs_node *node);

#endif
