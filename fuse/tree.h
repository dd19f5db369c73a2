/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.h - the inodes that the kernel knows, and the way back to their files
 *
 * A node is found by device, inode number and kind of its backing file, and
 * remembers the last directory and name under which that was seen.  Nothing is
 * opened by a path: always one name below the descriptor of a directory,
 * without following symbolic links, and the result must be the expected file.
 * So if another program changes the tree, the kernel may get ESTALE (and look
 * the name up again), but never another file.
 *
 * Only O_PATH descriptors of directories outlive their use; the least recently
 * used is closed first.  One of a file would keep the space of a deleted file
 * in use.  A file that is deleted through the mount is *held* until the kernel
 * forgets it, though: an open of it may be on its way.
 *
 * Frames are not known here: see probe.h and resolve.h.
 *
 * Layer: fuse.
 *
 * Threads: any.  One lock, tree->lock, for all nodes; never held during I/O.  References
 * are counted without it.
 */
#ifndef B2F_FUSE_TREE_H
#define B2F_FUSE_TREE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
	/* The made-up directory around a single frame; always the root. */
	FS_KIND_SINGLE,
	/* A frame that is an array, as a .npy file beside it; see view.h. */
	FS_KIND_VIEW,
};

/* State of the data of a node; what is no atomic is under fs->state_lock. */
struct fs_state {
	/* The open frame, or NULL. */
	struct fs_open_frame *frame;
	/*
	 * Of a file that is no frame: handles whose data the kernel reads and writes
	 * itself, and all others.  It refuses to mix them, and knows the file of the
	 * former by a number.
	 */
	size_t npassed;
	size_t nasked;
	int backing_id;
	/* Handles, including those that are still being opened. */
	size_t nhandles;
	/* Handles that may write; counted only for files that are no frames. */
	size_t nwriters;
	/* Open frames that are no longer @frame, but not closed yet. */
	size_t nclosing;
	/* A thread is about to make @frame, which has the others wait. */
	bool opening;
	/*
	 * The kernel gets another node for the file, so this one is opened no more
	 * (cache_state.h, with writeback_cache): two would have sizes of their own.
	 */
	bool renewed;
	/* Where the deleted frame is until the node goes, or NULL. */
	struct fs_unlinked *_Atomic deleted;
	/* It was a contiguous frame, and its last name has gone. */
	atomic_bool unlinked;
	/* There is, or was, a view of the frame. */
	atomic_bool has_view;
	struct fs_cache_state seen;
	/* By the last probe: the frame is read-only. */
	atomic_bool read_only;
};

struct fs_backed {
	struct fs_node head;
	/* These never change, but @sparse and @ino once (fs_tree_become()). */
	enum fs_kind kind;
	/* A frame that is a directory. */
	_Atomic bool sparse;
	bool is_root;
	dev_t dev;
	_Atomic ino_t ino;
	/*
	 * When it was made, ns; 0: not known.  A number that another file has got
	 * again tells nothing.
	 */
	_Atomic int64_t born_ns;
	/* Set-id bits were shown since fs_setattr_clear_set_ids() has looked. */
	_Atomic bool has_set_ids;
	/* The number to show if it is not @ino, or 0; see fs_tree_become(). */
	_Atomic ino_t shown_ino;

	/* The rest, but for @state: under the tree's lock. */
	/* NULL for the topmost one. */
	struct fs_backed *parent;
	/* In @parent, on the backing filesystem. */
	char *name;
	/* That name is gone, but the file has others, perhaps beside it. */
	_Atomic bool lost_name;
	/* fs_tree_get() no longer finds it. */
	bool retired;
	/* O_PATH of the file that has @shown_ino; -1: none.  Next one that has it. */
	int lent_fd;
	struct fs_backed *next_lent;
	/* When it was seen without pins first, on the monotonic clock; or 0. */
	time_t unused_s;
	/* Next in the bucket; the root and what is above it are in none. */
	struct fs_backed *next;
	/* O_PATH; -1: not open. */
	int fd;
	/* Users of @fd; all holds together count as one. */
	unsigned int npins;
	unsigned int nholds;
	/* Neighbours in the list of open but unused nodes; NULL: not in it. */
	struct fs_backed *older;
	struct fs_backed *newer;

	struct fs_state state;
};

struct fs_tree {
	struct fs_volume volume;
	pthread_mutex_t lock;
	struct fs_backed *root;
	/* Device number of our own mount; 0: not mounted yet. */
	dev_t own_dev;
	/* The covered directory; shown where the tree leads into itself. */
	int covered_fd;
	/* /proc/self/fd */
	int proc_fd;
	/*
	 * Device of the root's backing file; inode numbers of other devices are
	 * changed.
	 */
	dev_t base_dev;
	/* There, what the kernel has cached of attributes is true. */
	bool base_is_local;
	/* Sizes of frames; see probe.h. */
	struct fs_sizes_table sizes;
	/* Called with @state.deleted of a node that is freed; may do I/O. */
	void (*on_deleted)(void *arg, struct fs_unlinked *deleted);
	void *arg;

	/* Under the lock. */
	struct fs_backed **buckets;
	size_t nbuckets;
	size_t nnodes;
	/* Nodes with a @lent_fd, the oldest first. */
	struct fs_backed *lent;
	size_t nlent;
	/* Unused descriptors: oldest first. */
	struct fs_backed idle;
	size_t nidle;
	size_t max_idle;
	/* Const. */
	int reserved_from;
};

/* Where a tree begins. */
struct fs_tree_base {
	struct fs_volume volume;
	enum fs_kind kind;
	/*
	 * DIR: the directory itself.  SINGLE and FRAME: the directory that the
	 * frame is in.  fs_tree_new() takes it over on success.
	 */
	int fd;
	/* FRAME: the name of the frame in @fd. */
	const char *name;
	bool sparse;
	/* How many unused descriptors to keep open. */
	size_t max_idle;
	/* Descriptors from this number on are not for nodes. */
	int reserved_from;
	/* The directory that the mount will cover; taken over, too. */
	int covered_fd;
	/* See struct fs_tree. */
	void (*on_deleted)(void *arg, struct fs_unlinked *deleted);
	void *arg;
};

/* The descriptor of a node, in use.  Zero-initialize it. */
struct fs_pin {
	struct fs_backed *node;
	/* O_PATH. */
	int fd;
	/* @fd belongs to this pin alone. */
	bool owned;
};

/*
 * Makes a tree with its root.  Free *@out with fs_tree_free().
 * Returns 0, -ENOMEM, or the errno of fstat(2) or of opening /proc/self/fd.
 */
B2F_MUST_CHECK
int fs_tree_new(const struct fs_tree_base *base, struct fs_tree **out);

/* Frees the tree and every node.  NULL does nothing. */
void fs_tree_free(struct fs_tree *tree);

/*
 * Gets the node of the file that @key tells by its dev, ino, born_ns, kind and
 * sparse, making it if there is none, and notes that it is @name in @parent.  Give the
 * reference back with fs_tree_forget().  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_tree_get(struct fs_tree *tree, struct fs_backed *parent,
		const char *name, const struct fs_backed *key,
		struct fs_backed **out);

/*
 * The node that @key tells as in fs_tree_get(), with a reference, or NULL if
 * the kernel does not know it.  @retired: among those that are not found by
 * fs_tree_get() any more.
 */
struct fs_backed *fs_tree_find(struct fs_tree *tree,
			       const struct fs_backed *key, bool retired);

/* Notes that @node is @name in @parent now.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_tree_move(struct fs_tree *tree, struct fs_backed *node,
		 struct fs_backed *parent, const char *name);

/* Frees @inode (volume.h). */
struct fs_node *fs_tree_release(struct fs_node *inode);

/* Gives back @n references.  NULL does nothing. */
static inline void fs_tree_forget(struct fs_tree *tree, struct fs_backed *node,
				  uint64_t n)
{
	(void)tree;
	fs_node_put(node ? &node->head : NULL, n);
}

/* Makes the next fs_tree_get() create a new node instead of finding @node. */
void fs_tree_retire(struct fs_tree *tree, struct fs_backed *node);

/*
 * Keeps @node open until it is freed, by the O_PATH descriptor @fd, which is
 * taken over.  -1 does nothing.
 */
void fs_tree_hold(struct fs_tree *tree, struct fs_backed *node, int fd);

/* Is it held, so that its name says nothing? */
bool fs_tree_is_held(struct fs_tree *tree, const struct fs_backed *node);

/*
 * Undoes one hold: @node was not deleted after all, or (@lost_name) has another name
 * left.
 */
void fs_tree_unhold(struct fs_tree *tree, struct fs_backed *node,
		    bool lost_name);

/*
 * The file @node, which is pinned, has become the directory @fd, of number @ino: so has
 * every pin of it.  The number that it had is shown as before, and no other file gets
 * it, as long as the node is pinned, and until the tick finds it old, or many others
 * have come.
 */
void fs_tree_become(struct fs_tree *tree, struct fs_backed *node, int fd,
		    ino_t ino);

/*
 * Gives back the numbers of nodes that have had no pin for @age seconds.  Returns
 * whether some stay.
 */
bool fs_tree_tick(struct fs_tree *tree, time_t now, time_t age);

/* The number to show for the file @ino on @dev, as a listing has it. */
ino_t fs_tree_shown_ino(struct fs_tree *tree, dev_t dev, ino_t ino);

/* How many nodes there are, and how many idle descriptors. */
void fs_tree_count(struct fs_tree *tree, size_t *nnodes, size_t *nidle);

/*
 * The path of @node below the base, "" for the root.  *@out is malloc'ed.
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_tree_path(struct fs_tree *tree, struct fs_backed *node, char **out);

/*
 * For tree_fd.c: takes @node off the list of unused ones.  The tree is locked.
 */
void fs_tree_busy(struct fs_tree *tree, struct fs_backed *node);

/* tree_fd.c */

/*
 * Opens @name in @dirfd as O_PATH looks at it, and tells when it was made
 * (0: not known).  Where @name leads into our
 * own mount, opens what the mount covers: waiting for our own answer would
 * never end.
 *
 * Returns 0 or the errno of openat(2) or fstat(2).
 */
B2F_MUST_CHECK
int fs_tree_look_at(struct fs_tree *tree, int dirfd, const char *name, int *fd,
		    struct stat *st, int64_t *born_ns);

/*
 * Opens the file of the O_PATH descriptor @fd with @flags (and O_CLOEXEC).
 * Returns a descriptor or the errno of openat(2).
 */
B2F_MUST_CHECK
int fs_tree_reopen(struct fs_tree *tree, int fd, int flags);

/*
 * Gets a descriptor of @node, for use until fs_tree_unpin().
 * Returns 0, -ESTALE (it is not where it was), -ENOMEM, or an errno.
 */
B2F_MUST_CHECK
int fs_tree_pin(struct fs_tree *tree, struct fs_backed *node,
		struct fs_pin *out);

/* The same by @fd, an O_PATH descriptor of @node that is taken over. */
void fs_tree_pin_opened(struct fs_tree *tree, struct fs_backed *node, int fd,
			struct fs_pin *out);

/* Pins the parent of @node and copies the name that @node has in it. */
B2F_MUST_CHECK
int fs_tree_pin_parent(struct fs_tree *tree, struct fs_backed *node,
		       struct fs_pin *out, char name[FS_NAME_SIZE]);

/* Gives it back and zeroes @pin.  A zeroed @pin does nothing. */
void fs_tree_unpin(struct fs_tree *tree, struct fs_pin *pin);

#endif
