/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.c - the nodes of the tree: a table with references and names */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "dir.h"
#include "fs.h"

/* At most so many unused nodes keep a lent inode number. */
#define LENT_MAX 256

static struct fs_tree_bucket *bucket_of(const struct fs_tree *tree,
					const struct fs_backed *key)
{
	uint64_t h = (uint64_t)key->ino ^
		     (uint64_t)key->dev * UINT64_C(0xff51afd7ed558ccd);

	h += (uint64_t)key->kind;
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return &tree->buckets[(h >> 32) % FS_TREE_BUCKETS];
}

/* Does @n still lead to its file, or (@deleted) did the mount delete that? */
static bool leads(const struct fs_backed *n, bool deleted)
{
	/* If another program did, another file may have the number by now. */
	return deleted ? n->state.deleted || n->state.unlinked : !n->retired;
}

/* Finds a node and takes a reference.  Locked. */
static struct fs_backed *find(const struct fs_tree *tree,
			      const struct fs_backed *key, bool deleted)
{
	struct fs_backed *n;

	LIST_FOREACH (n, bucket_of(tree, key), hashed)
		if (n->ino == key->ino && n->dev == key->dev &&
		    n->kind == key->kind && n->sparse == key->sparse &&
		    leads(n, deleted) && fs_node_try_ref(&n->head))
			break;
	return n;
}

static void free_node(struct fs_backed *node)
{
	if (!node)
		return;
	fs_dir_close(node->fd);
	fs_dir_close(node->lent_fd);
	free(node->name);
	free(node);
}

/* Frees a node that the kernel knew, and the files of a deleted frame. */
static void bury_node(struct fs_tree *tree, struct fs_backed *node)
{
	fs_unlinked_finish(tree->volume.fs, node->state.deleted);
	free_node(node);
}

static struct fs_backed *new_node(struct fs_tree *tree, enum fs_kind kind,
				  const char *name)
{
	struct fs_backed *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	fs_node_init(&node->head, &tree->volume, NULL);
	node->kind = kind;
	node->head.is_view = kind == FS_KIND_VIEW;
	node->fd = node->lent_fd = -1;
	node->name = strdup(name);
	if (node->name)
		return node;
	free(node);
	return NULL;
}

/* Makes a node for the directory @fd, which stays open. */
static int new_top(struct fs_tree *tree, enum fs_kind kind, int fd,
		   struct fs_backed **out)
{
	struct fs_backed *node;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	node = new_node(tree, kind, "");
	if (!node)
		return -ENOMEM;
	node->dev = st.st_dev;
	node->ino = st.st_ino;
	node->fd = fd;
	node->npins = 1;
	*out = node;
	return 0;
}

/* The root is a directory, or the one around a frame; or the frame in it. */
static int make_root(struct fs_tree *tree, const struct fs_source *source,
		     bool is_file)
{
	struct fs_backed *top = NULL;
	struct statvfs vfs;
	int err = new_top(tree,
			  source->is_frame && !is_file ? FS_KIND_SINGLE
						       : FS_KIND_DIR,
			  source->fd, &top);

	if (err)
		return err;
	tree->root = top;
	tree->base_dev = top->dev;
	if (fstatvfs(source->fd, &vfs) == 0)
		tree->base_flags = vfs.f_flag;
	tree->base_mount = fs_tree_mount_of(source->fd);
	tree->base_is_local = fs_dir_is_local(source->fd);
	tree->base_changes_births = fs_dir_changes_births(source->fd);
	if (source->is_frame && is_file) {
		tree->root = new_node(tree, FS_KIND_FRAME, source->name);
		if (!tree->root) {
			top->fd = -1;
			free_node(top);
			return -ENOMEM;
		}
		tree->root->parent = top;
		tree->root->sparse = source->sparse;
		tree->root->dev = top->dev;
	}
	tree->root->is_root = true;
	return 0;
}

int fs_tree_new(const struct fs_volume *volume, size_t max_idle,
		int reserved_from, struct fs_tree **out)
{
	struct fs_tree *tree = calloc(1, sizeof(*tree));
	struct fs *fs = volume->fs;
	int err = 0;

	if (!tree)
		return -ENOMEM;
	tree->volume = *volume;
	tree->sizes.all = calloc(FS_SIZES, sizeof(tree->sizes.all[0]));
	TAILQ_INIT(&tree->idle);
	TAILQ_INIT(&tree->lent);
	tree->max_idle = max_idle;
	tree->reserved_from = reserved_from;
	tree->covered_fd = -1;
	tree->buckets = calloc(FS_TREE_BUCKETS, sizeof(tree->buckets[0]));
	tree->proc_fd = open("/proc/self/fd", O_PATH | O_CLOEXEC);
	if (tree->proc_fd < 0)
		err = -errno;
	else if (!tree->buckets)
		err = -ENOMEM;
	if (!err)
		err = make_root(tree, &fs->source, fs->mountpoint.is_file);
	if (err) {
		fs_tree_free(tree);
		return err;
	}
	fs->source.fd = -1;
	tree->covered_fd = fs->mountpoint.fd;
	fs->mountpoint.fd = -1;
	*out = tree;
	return 0;
}

void fs_tree_free(struct fs_tree *tree)
{
	struct fs_backed *top, *n;

	if (!tree)
		return;
	for (size_t i = 0; tree->buckets && i < FS_TREE_BUCKETS; i++) {
		while ((n = LIST_FIRST(&tree->buckets[i]))) {
			LIST_REMOVE(n, hashed);
			bury_node(tree, n);
		}
	}
	top = tree->root ? tree->root->parent : NULL;
	free_node(tree->root);
	free_node(top);
	fs_dir_close(tree->proc_fd);
	fs_dir_close(tree->covered_fd);
	free(tree->sizes.all);
	free(tree->buckets);
	free(tree);
}

/*
 * Is @node equal to @below, or above it?  While other programs move
 * directories, the kernel may look up each of two in the other; a circle of
 * parents would never end.
 */
static bool is_above(const struct fs_backed *node,
		     const struct fs_backed *below)
{
	while (below && below != node)
		below = below->parent;
	return below != NULL;
}

/*
 * Notes that @node is *@name in @parent now.  If the name is new, *@name is
 * exchanged for the old one, which the caller frees.  Returns the parent that
 * lost a reference, or NULL.
 */
static struct fs_backed *move_node(struct fs_backed *node,
				   struct fs_backed *parent, char **name)
{
	struct fs_backed *old = node->parent;
	char *old_name = node->name;

	if ((old == parent && strcmp(node->name, *name) == 0) ||
	    is_above(node, parent))
		return NULL;
	node->name = *name;
	node->lost_name = false;
	*name = old_name;
	if (old == parent)
		return NULL;
	fs_node_ref(&parent->head);
	node->parent = parent;
	return old;
}

/*
 * Returns the node of the very file @key, with a reference, or NULL.  If
 * another file has its inode number now, the old node is taken off the table
 * and returned in *@stale, with a reference.  Locked.
 */
static struct fs_backed *find_same(struct fs_tree *tree,
				   const struct fs_backed *key,
				   struct fs_backed **stale)
{
	struct fs_backed *node = find(tree, key, false);

	if (!node || !key->born_ns)
		return node;
	if (!node->born_ns)
		node->born_ns = key->born_ns;
	if (node->born_ns == key->born_ns)
		return node;
	node->retired = true;
	*stale = node;
	return NULL;
}

int fs_tree_get(struct fs_tree *tree, struct fs_backed *parent,
		const char *name, const struct fs_backed *key,
		struct fs_backed **out)
{
	struct fs_backed *fresh = new_node(tree, key->kind, name);
	struct fs_backed *node, *old_parent = NULL, *stale = NULL;

	if (!fresh)
		return -ENOMEM;
	fresh->dev = key->dev;
	fresh->ino = key->ino;
	fresh->born_ns = key->born_ns;
	fresh->sparse = key->sparse;
	pthread_mutex_lock(&tree->volume.fs->state_lock);
	node = find_same(tree, key, &stale);
	if (node) {
		old_parent = move_node(node, parent, &fresh->name);
	} else {
		node = fresh;
		fresh = NULL;
		fs_node_ref(&parent->head);
		node->parent = parent;
		tree->nnodes++;
		LIST_INSERT_HEAD(bucket_of(tree, node), node, hashed);
	}
	pthread_mutex_unlock(&tree->volume.fs->state_lock);
	free_node(fresh);
	fs_tree_forget(stale);
	fs_tree_forget(old_parent);
	*out = node;
	return 0;
}

struct fs_backed *fs_tree_find(struct fs_tree *tree,
			       const struct fs_backed *key, bool deleted)
{
	B2F_HOLD(&tree->volume.fs->state_lock);

	return find(tree, key, deleted);
}

int fs_tree_move(struct fs_tree *tree, struct fs_backed *node,
		 struct fs_backed *parent, const char *name)
{
	struct fs_backed *old_parent;
	B2F_OWN char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&tree->volume.fs->state_lock);
	old_parent = move_node(node, parent, &copy);
	pthread_mutex_unlock(&tree->volume.fs->state_lock);
	fs_tree_forget(old_parent);
	return 0;
}

void fs_tree_busy(struct fs_tree *tree, struct fs_backed *node)
{
	if (node->fd < 0 || node->npins > 0)
		return;
	TAILQ_REMOVE(&tree->idle, node, idle);
	tree->nidle--;
}

/*
 * Takes back the inode number that @node was lent; locked.  Returns the
 * descriptor that kept the number.
 */
static int take_number(struct fs_tree *tree, struct fs_backed *node)
{
	int fd = node->lent_fd;

	TAILQ_REMOVE(&tree->lent, node, lent);
	tree->nlent--;
	node->shown_ino = 0;
	node->lent_fd = -1;
	return fd;
}

struct fs_node *fs_tree_release(struct fs_node *inode)
{
	struct fs_tree *tree = (struct fs_tree *)inode->volume;
	struct fs_backed *node = (struct fs_backed *)inode;
	struct fs_backed *parent = node->parent;

	pthread_mutex_lock(&tree->volume.fs->state_lock);
	LIST_REMOVE(node, hashed);
	fs_tree_busy(tree, node);
	/* Its descriptor, which keeps the number, is closed with it. */
	if (node->shown_ino)
		node->lent_fd = take_number(tree, node);
	tree->nnodes--;
	pthread_mutex_unlock(&tree->volume.fs->state_lock);
	bury_node(tree, node);
	return &parent->head;
}

/*
 * Takes back the first lent number of a node that has had no pin for @age
 * seconds.  Returns its descriptor or -1.  Locked.
 */
static int take_old(struct fs_tree *tree, time_t now, time_t age)
{
	struct fs_backed *node;

	TAILQ_FOREACH (node, &tree->lent, lent) {
		if (node->npins)
			node->unused_s = 0;
		else if (!node->unused_s)
			node->unused_s = now;
		if (node->unused_s && now - node->unused_s >= age)
			return take_number(tree, node);
	}
	return -1;
}

/* Notes that @node keeps its shown inode number; locked. */
static void lend_number(struct fs_tree *tree, struct fs_backed *node)
{
	node->lent_fd = fcntl(node->fd, F_DUPFD_CLOEXEC, 0);
	/* Without the descriptor, another file may get the number. */
	if (node->lent_fd < 0)
		return;
	node->shown_ino = node->ino;
	TAILQ_INSERT_TAIL(&tree->lent, node, lent);
	tree->nlent++;
}

void fs_tree_become(struct fs_tree *tree, struct fs_backed *node, int fd,
		    ino_t ino)
{
	int spare = -1;

	pthread_mutex_lock(&tree->volume.fs->state_lock);
	lend_number(tree, node);
	/*
	 * A request that has pinned @node looks what it is: first the
	 * descriptor is a directory.  Both are open, so dup3(2) cannot fail.
	 */
	(void)!dup3(fd, node->fd, O_CLOEXEC);
	LIST_REMOVE(node, hashed);
	node->ino = ino;
	node->born_ns = 0;
	node->sparse = true;
	LIST_INSERT_HEAD(bucket_of(tree, node), node, hashed);
	if (tree->nlent > LENT_MAX)
		spare = take_old(tree, fs_clock_s(), 0);
	pthread_mutex_unlock(&tree->volume.fs->state_lock);
	fs_dir_close(spare);
}

bool fs_tree_tick(struct fs_tree *tree, time_t now, time_t age)
{
	bool more;
	int fd;

	do {
		pthread_mutex_lock(&tree->volume.fs->state_lock);
		fd = take_old(tree, now, age);
		more = !TAILQ_EMPTY(&tree->lent);
		pthread_mutex_unlock(&tree->volume.fs->state_lock);
		/* After the close a new file may get the number. */
		fs_dir_close(fd);
	} while (fd >= 0);
	return more;
}

ino_t fs_tree_shown_ino(struct fs_tree *tree, dev_t dev, ino_t ino)
{
	const struct fs_backed *node;
	B2F_HOLD(&tree->volume.fs->state_lock);

	TAILQ_FOREACH (node, &tree->lent, lent)
		if (node->ino == ino && node->dev == dev)
			ino = node->shown_ino;
	return ino;
}

/* Writes the path of @node, to end at @end; with NULL only measures. */
static size_t build_path(const struct fs_backed *node, char *end)
{
	size_t total = 0;

	for (; node && node->parent; node = node->parent) {
		size_t n = strlen(node->name);

		total += n + (total > 0 ? 1 : 0);
		if (!end)
			continue;
		if (total > n)
			*--end = '/';
		end -= n;
		memcpy(end, node->name, n);
	}
	return total;
}

int fs_tree_path(struct fs_tree *tree, struct fs_backed *node, char **out)
{
	B2F_HOLD(&tree->volume.fs->state_lock);
	size_t n = build_path(node, NULL);
	char *path = malloc(n + 1);

	if (!path)
		return -ENOMEM;
	path[n] = '\0';
	build_path(node, path + n);
	*out = path;
	return 0;
}
