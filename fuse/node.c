/* SPDX-License-Identifier: BSD-3-Clause */
/* node.c - nodes: the inodes that the kernel knows, the same for each volume */
#include "node.h"

#include <errno.h>

#include "volume.h"

void fs_node_init(struct fs_node *node, struct fs_volume *volume,
		  struct fs_node *owner)
{
	node->volume = volume;
	node->owner = owner;
	node->generation = atomic_fetch_add(&volume->fs->nodes.last_generation, 1) + 1;
	atomic_init(&node->nrefs, 1);
}

struct fs_node *fs_node_of(const struct fs *fs, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? fs->nodes.root
				   : (struct fs_node *)(uintptr_t)ino;
}

static fuse_ino_t number_of(const struct fs_node *node)
{
	return node == node->volume->fs->nodes.root ? FUSE_ROOT_ID
					      : (fuse_ino_t)(uintptr_t)node;
}

static struct fs_node *counted(struct fs_node *node)
{
	return node->owner ? node->owner : node;
}

void fs_node_ref(struct fs_node *node)
{
	atomic_fetch_add(&counted(node)->nrefs, 1);
}

bool fs_node_try_ref(struct fs_node *node)
{
	_Atomic uint64_t *nrefs = &counted(node)->nrefs;
	uint64_t n = atomic_load(nrefs);

	while (n > 0 && !atomic_compare_exchange_weak(nrefs, &n, n + 1))
		;
	return n > 0;
}

/*
 * Gives back @n references; returns whether none is left.  The kernel never
 * gives back more than it got.
 */
static bool drop(struct fs_node *node, uint64_t n)
{
	uint64_t now = atomic_load(&node->nrefs), left;

	do {
		left = now > n ? now - n : 0;
	} while (!atomic_compare_exchange_weak(&node->nrefs, &now, left));
	return left == 0;
}

void fs_node_put(struct fs_node *node, uint64_t n)
{
	/* A loop, because a recursion would be as deep as the tree. */
	while (node) {
		node = counted(node);
		if (!drop(node, n))
			break;
		node = node->volume->ops->release(node);
		n = 1;
	}
}

void fs_node_tell(struct fs *fs, fuse_ino_t ino, int64_t size)
{
	struct fs_node *node = fs_node_of(fs, ino);
	int64_t before = atomic_exchange(&node->told_size, size);

	if (atomic_fetch_add(&node->nlookups, 1) == 0)
		atomic_store(&node->told_sizes, false);
	else if (before != size)
		atomic_store(&node->told_sizes, true);
}

void fs_node_forget(struct fs *fs, fuse_ino_t ino, uint64_t n)
{
	struct fs_node *node = fs_node_of(fs, ino);

	/* The kernel's references to the root do not count. */
	if (ino == FUSE_ROOT_ID)
		return;
	if (atomic_fetch_sub(&node->nlookups, n) > n &&
	    node->volume->ops->made_again)
		node->volume->ops->made_again(node);
	fs_node_put(node, n);
}

struct fuse_entry_param fs_node_answer(const struct fs_node *node)
{
	const struct fs_options *o = &node->volume->fs->options;

	return (struct fuse_entry_param){
		.ino = number_of(node),
		.generation = node->generation,
		.attr_timeout = o->cache.attr_timeout_s,
		.entry_timeout = o->cache.entry_timeout_s,
	};
}

void fs_node_drop_attributes(const struct fs *fs, fuse_ino_t ino)
{
	/* A negative offset: no pages. */
	(void)!fuse_lowlevel_notify_inval_inode(fs->session, ino, -1, 0);
}

bool fs_node_drop_cached(const struct fs_node *node)
{
	int err = fuse_lowlevel_notify_inval_inode(node->volume->fs->session,
						   number_of(node), 0, 0);

	/* -ENOENT: the kernel has already forgotten the inode. */
	return err == 0 || err == -ENOENT;
}
