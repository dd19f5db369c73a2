/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.h - the nodes of the tree, and the way back to their files
 *
 * A node is found by device, inode number and kind of its backing file, and
 * remembers the last directory and name of the file.  Files are not opened by
 * path, but by one name below the descriptor of a directory, without following
 * symbolic links; and the result must be the expected file.  So if another
 * program changes the tree, the kernel may get ESTALE (and look the name up
 * again), but never another file.
 *
 * Only directories keep their O_PATH descriptors after use, and the least
 * recently used one is closed first; the descriptor of a file would keep the
 * space of a deleted file in use.  But a file that is deleted through the mount
 * is *held* until the kernel forgets it, because an open may be on its way.
 *
 * The tree does not know what a frame is: see probe.h and resolve.h.
 *
 * Layer: fuse.
 *
 * Threads: any.  All nodes are under fs->state_lock; references are counted
 * without it.
 */
#ifndef B2F_FUSE_TREE_H
#define B2F_FUSE_TREE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "b2frame/frame.h"
#include "cache_state.h"
#include "node.h"
#include "sizes.h"
#include "suffix.h"

struct fs_unlinked;
struct fs_open_frame;

enum fs_kind {
	/* A directory of the backing filesystem. */
	FS_KIND_DIR,
	/* A frame, shown as a file. */
	FS_KIND_FRAME,
	/* Any other file, shown unchanged. */
	FS_KIND_OTHER,
	/*
	 * The directory shown around a single frame, which does not exist on
	 * disk; always the root.
	 */
	FS_KIND_SINGLE,
	/* A frame that is an array, as a .npy file beside it; see view.h. */
	FS_KIND_VIEW,
};

/* State of a node's data; all but atomics under fs->state_lock. */
struct fs_state {
	/* The open frame, or NULL. */
	struct fs_open_frame *frame;
	/*
	 * For a plain file: the number of handles that the kernel reads and
	 * writes itself, and of handles that send requests.  The kernel refuses
	 * to mix the two, and knows the file of the first kind by a number.
	 */
	size_t npassed;
	size_t nasked;
	int backing_id;
	/* Handles, including those that are still being opened. */
	size_t nhandles;
	/* Handles that may write; counted only for plain files. */
	_Atomic size_t nwriters;
	/* Former @frame's that are not closed yet. */
	size_t nclosing;
	/* A thread is opening @frame; others wait for it. */
	bool opening;
	/*
	 * The kernel gets another node for the file (cache_state.h, with
	 * writeback_cache), so this one is not opened any more: each would have
	 * a size of its own.
	 */
	bool renewed;
	/* The hidden place of the deleted frame, or NULL. */
	struct fs_unlinked *_Atomic deleted;
	/* It was no sparse frame, and has lost its last name. */
	atomic_bool unlinked;
	/* The kernel may know a view of the frame. */
	atomic_bool has_view;
	/* Handles of the view, like @nhandles. */
	size_t nviews;
	struct fs_cache_state seen;
	/* At the last probe, the frame was read-only. */
	atomic_bool read_only;
};

struct fs_backed {
	struct fs_node head;
	/* Const, except @sparse and @ino, once (fs_tree_become()). */
	enum fs_kind kind;
	/* The frame is a directory. */
	_Atomic bool sparse;
	bool is_root;
	dev_t dev;
	_Atomic ino_t ino;
	/*
	 * Creation time, ns; 0: unknown.  It tells apart two files that had the
	 * same inode number one after the other.
	 */
	_Atomic int64_t born_ns;
	/* The number to show if not @ino, or 0; see fs_tree_become(). */
	_Atomic ino_t shown_ino;

	/* All below is under fs->state_lock, but for atomics. */
	/* NULL for a topmost node. */
	struct fs_backed *parent;
	/* Its backing name in @parent. */
	char *name;
	/* The open directory is on another mount than SOURCE. */
	bool is_elsewhere;
	/* The name was deleted, but the file has other names. */
	_Atomic bool lost_name;
	/* fs_tree_get() makes a new node instead of finding this one. */
	_Atomic bool retired;
	/*
	 * O_PATH of the file that has the number @shown_ino, or -1; and its
	 * place in the list of nodes that have such a descriptor.
	 */
	int lent_fd;
	TAILQ_ENTRY(fs_backed) lent;
	/* When it was first seen without pins, on the monotonic clock; or 0. */
	time_t unused_s;
	/* In its hash bucket; topmost nodes and the root are in none. */
	LIST_ENTRY(fs_backed) hashed;
	/* O_PATH; -1: not open. */
	int fd;
	/*
	 * Users of @fd; all holds count as one.  The name of a node that is
	 * held may be gone.
	 */
	unsigned int npins;
	_Atomic unsigned int nholds;
	/* In the list of idle nodes: of those with @fd, but without pins. */
	TAILQ_ENTRY(fs_backed) idle;

	struct fs_state state;
};

/* With a million nodes a bucket has 16 of them. */
#define FS_TREE_BUCKETS (1 << 16)

struct fs_tree {
	struct fs_volume volume;
	struct fs_backed *root;
	/* Device number of our own mount; 0: not mounted yet. */
	dev_t own_dev;
	/* The covered directory, shown where the tree meets its mount. */
	int covered_fd;
	/* /proc/self/fd */
	int proc_fd;
	/*
	 * Device of the root's backing file; inode numbers on other devices are
	 * shown changed.
	 */
	dev_t base_dev;
	/* Flags of the root's filesystem, by statvfs(2). */
	unsigned long base_flags;
	/* The mount that SOURCE is on. */
	uint64_t base_mount;
	/*
	 * Only this kernel changes the root's filesystem, so attributes that
	 * the kernel caches are true.
	 */
	bool base_is_local;
	/* Creation times on it do not tell files apart (dir.h). */
	bool base_changes_births;
	/* Sizes of frames; see probe.h. */
	struct fs_sizes_table sizes;

	/* All below is under fs->state_lock, but for atomics. */
	LIST_HEAD(fs_tree_bucket, fs_backed) *buckets;
	_Atomic size_t nnodes;
	/* Nodes with a @lent_fd, oldest first. */
	TAILQ_HEAD(fs_tree_lent, fs_backed) lent;
	size_t nlent;
	/* Unused descriptors: oldest first. */
	TAILQ_HEAD(fs_tree_idle, fs_backed) idle;
	_Atomic size_t nidle;
	size_t max_idle;
	int reserved_from;
};

/* A descriptor of a node in use.  Zero-initialize it; see FS_PIN(). */
struct fs_pin {
	struct fs_backed *node;
	/* O_PATH. */
	int fd;
	/* Only this pin uses @fd. */
	bool owned;
};

/*
 * Makes the tree of @volume, with SOURCE of the mount as its root; takes over
 * the descriptors of SOURCE and MOUNTPOINT.  It keeps up to @max_idle unused
 * descriptors; those from @reserved_from on are for reads.  Free *@out with
 * fs_tree_free().  Returns 0, -ENOMEM, or the errno of fstat(2) or of opening
 * /proc/self/fd.
 */
B2F_MUST_CHECK
int fs_tree_new(const struct fs_volume *volume, size_t max_idle,
		int reserved_from, struct fs_tree **out);

/* Frees the tree and every node.  NULL does nothing. */
void fs_tree_free(struct fs_tree *tree);

/*
 * Gets the node of the file @key (dev, ino, born_ns, kind and sparse), or makes
 * one, and notes that it is @name in @parent.  Give the reference back with
 * fs_tree_forget().  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_tree_get(struct fs_tree *tree, struct fs_backed *parent,
		const char *name, const struct fs_backed *key,
		struct fs_backed **out);

/*
 * Returns the node of @key as in fs_tree_get(), with a reference, or NULL if
 * the kernel does not know it.  @deleted: the node of a frame that this mount
 * has deleted, which may be open.
 */
struct fs_backed *fs_tree_find(struct fs_tree *tree,
			       const struct fs_backed *key, bool deleted);

/* Notes that @node is @name in @parent now.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_tree_move(struct fs_tree *tree, struct fs_backed *node,
		 struct fs_backed *parent, const char *name);

/* Frees @inode (volume.h). */
struct fs_node *fs_tree_release(struct fs_node *inode);

/* Gives back a reference.  NULL does nothing. */
static inline void fs_tree_forget(struct fs_backed *node)
{
	fs_node_put(node ? &node->head : NULL, 1);
}

/*
 * Keeps @node open until it is freed, by the O_PATH descriptor @fd, which it
 * takes over.  -1 does nothing.
 */
void fs_tree_hold(struct fs_tree *tree, struct fs_backed *node, int fd);

/* Ends one hold: @node was not deleted, or (@lost_name) has others. */
void fs_tree_unhold(struct fs_tree *tree, struct fs_backed *node,
		    bool lost_name);

/*
 * The pinned file @node, and each pin of it, has become the directory @fd with
 * the inode number @ino.  It is still shown with its old number, which no other
 * file gets while the node is pinned, and until the tick finds it old, or there
 * are too many.
 */
void fs_tree_become(struct fs_tree *tree, struct fs_backed *node, int fd,
		    ino_t ino);

/*
 * Takes back the lent numbers of nodes without a pin for @age seconds.  Returns
 * whether some are left.
 */
bool fs_tree_tick(struct fs_tree *tree, time_t now, time_t age);

/* The inode number that a listing shows for the file @ino on @dev. */
ino_t fs_tree_shown_ino(struct fs_tree *tree, dev_t dev, ino_t ino);

/*
 * Makes the path of @node below the root, "" for the root itself; *@out is
 * malloc'ed.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_tree_path(struct fs_tree *tree, struct fs_backed *node, char **out);

/* For tree_fd.c: takes @node off the list of idle descriptors.  Locked. */
void fs_tree_busy(struct fs_tree *tree, struct fs_backed *node);

/* tree_fd.c */

/*
 * Opens @name in @dirfd as O_PATH, and gets its attributes and creation time
 * (0: unknown).  If @name leads into our own mount, opens the covered
 * directory: a wait for our own answer would never end.
 *
 * Returns 0 or the errno of openat(2) or fstat(2).
 */
B2F_MUST_CHECK
int fs_tree_look_at(struct fs_tree *tree, int dirfd, const char *name, int *fd,
		    struct stat *st, int64_t *born_ns);

/* The id of the mount that @fd is on; 0 if the kernel does not tell. */
uint64_t fs_tree_mount_of(int fd);

/*
 * Opens the file of the O_PATH descriptor @fd with @flags (and O_CLOEXEC).
 * Returns a descriptor or the errno of openat(2).
 */
B2F_MUST_CHECK
int fs_tree_reopen(struct fs_tree *tree, int fd, int flags);

/*
 * Gets a descriptor of @node, valid until fs_tree_unpin().  Returns 0, -ESTALE
 * (the file was moved or deleted), -ENOMEM, or an errno.
 */
B2F_MUST_CHECK
int fs_tree_pin(struct fs_tree *tree, struct fs_backed *node,
		struct fs_pin *out);

/* The same with @fd, an O_PATH descriptor of @node, which it takes over. */
void fs_tree_pin_opened(struct fs_tree *tree, struct fs_backed *node, int fd,
			struct fs_pin *out);

/* Pins the parent of @node, and copies the name of @node in it. */
B2F_MUST_CHECK
int fs_tree_pin_parent(struct fs_tree *tree, struct fs_backed *node,
		       struct fs_pin *out, char name[FS_NAME_SIZE]);

/* Gives the descriptor back and zeroes @pin.  A zeroed @pin does nothing. */
void fs_tree_unpin(struct fs_pin *pin);

/* A zeroed pin, which is given back at the end of the block. */
#define FS_PIN(name)                                                           \
	__attribute__((cleanup(fs_tree_unpin))) struct fs_pin name = {0}

#endif
