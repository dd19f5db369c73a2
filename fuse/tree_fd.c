/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_fd.c - opens descriptors of nodes on demand, and keeps some for a while
 *
 * Each pin holds a reference to its node, so that a node in use is not freed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dir.h"
#include "fs.h"
#include "programs/directory.h"

/* How many idle descriptors to close when the process has no free one. */
#define EVICT_AT_ONCE 32

/* Takes the descriptor of the oldest idle node; -1 if there is none; locked. */
static int take_oldest(struct fs_tree *tree)
{
	struct fs_backed *node = TAILQ_FIRST(&tree->idle);
	int fd;

	if (!node)
		return -1;
	fs_tree_busy(tree, node);
	fd = node->fd;
	node->fd = -1;
	return fd;
}

/* Closes some idle descriptors.  Returns how many. */
static size_t evict(struct fs_tree *tree)
{
	size_t done = 0;

	while (done < EVICT_AT_ONCE) {
		int fd;

		pthread_mutex_lock(&tree->volume.fs->state_lock);
		fd = take_oldest(tree);
		pthread_mutex_unlock(&tree->volume.fs->state_lock);
		if (fd < 0)
			break;
		close(fd);
		done++;
	}
	return done;
}

/*
 * The kernel gives out the lowest free descriptor: if that is a reserved one,
 * only reserved ones are left.
 */
static int open_unreserved(const struct fs_tree *tree, int dirfd,
			   const char *name, int flags)
{
	int fd = openat(dirfd, name, flags | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fd < tree->reserved_from)
		return fd;
	close(fd);
	return -EMFILE;
}

/* openat(2) that makes room if the process has no descriptor left. */
static int open_with_room(struct fs_tree *tree, int dirfd, const char *name,
			  int flags)
{
	int fd = open_unreserved(tree, dirfd, name, flags);

	if ((fd == -EMFILE || fd == -ENFILE) && evict(tree) > 0)
		fd = open_unreserved(tree, dirfd, name, flags);
	return fd;
}

static struct timespec time_of(const struct statx_timestamp *t)
{
	return (struct timespec){.tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec};
}

/* Is @fd in our own mount?  Only its device may be asked for. */
static bool is_own(const struct fs_tree *tree, int fd)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &stx))
		return false;
	return makedev(stx.stx_dev_major, stx.stx_dev_minor) == tree->own_dev;
}

/* Gets the attributes and the creation time; @flags: as for statx(2). */
static int look(int fd, int flags, struct stat *st, int64_t *born_ns)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | flags,
		  STATX_BASIC_STATS | STATX_BTIME, &stx))
		return -errno;
	*st = (struct stat){
		.st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.st_ino = stx.stx_ino,
		.st_mode = stx.stx_mode,
		.st_nlink = stx.stx_nlink,
		.st_uid = stx.stx_uid,
		.st_gid = stx.stx_gid,
		.st_rdev = makedev(stx.stx_rdev_major, stx.stx_rdev_minor),
		.st_size = (off_t)stx.stx_size,
		.st_blksize = (blksize_t)stx.stx_blksize,
		.st_blocks = (blkcnt_t)stx.stx_blocks,
		.st_atim = time_of(&stx.stx_atime),
		.st_mtim = time_of(&stx.stx_mtime),
		.st_ctim = time_of(&stx.stx_ctime),
	};
	*born_ns = stx.stx_mask & STATX_BTIME
			   ? stx.stx_btime.tv_sec * INT64_C(1000000000) +
				     stx.stx_btime.tv_nsec
			   : 0;
	return 0;
}

int fs_tree_look_at(struct fs_tree *tree, int dirfd, const char *name, int *fd,
		    struct stat *st, int64_t *born_ns)
{
	int got = open_with_room(tree, dirfd, name, O_PATH | O_NOFOLLOW);
	int err;

	if (got < 0)
		return got;
	/* It may be in our own mount, which could not answer. */
	err = look(got, AT_STATX_DONT_SYNC, st, born_ns);
	if (tree->own_dev != 0 &&
	    (err ? is_own(tree, got) : st->st_dev == tree->own_dev)) {
		close(got);
		got = fcntl(tree->covered_fd, F_DUPFD_CLOEXEC, 0);
		if (got < 0)
			return -errno;
	}
	if (err || !tree->base_is_local || st->st_dev != tree->base_dev)
		err = look(got, 0, st, born_ns);
	if (!err && tree->base_changes_births && st->st_dev == tree->base_dev)
		*born_ns = 0;
	if (err)
		close(got);
	else
		*fd = got;
	return err;
}

int fs_tree_reopen(struct fs_tree *tree, int fd, int flags)
{
	char path[FS_DIR_PATH_SIZE];

	return open_with_room(tree, tree->proc_fd, fs_dir_number(fd, path),
			      flags | O_NOCTTY);
}

uint64_t fs_tree_mount_of(int fd)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID,
		  &stx))
		return 0;
	return stx.stx_mask & STATX_MNT_ID ? stx.stx_mnt_id : 0;
}

/*
 * Only directories stay open, because every lookup needs one; but what is
 * mounted inside SOURCE can only be unmounted if none of its own is open.
 */
static bool is_kept(const struct fs_backed *node)
{
	return node->kind == FS_KIND_DIR && !node->is_elsewhere;
}

/* If the root is a frame, it is the frame that has the name now. */
static bool follows_name(const struct fs_backed *node)
{
	return node->is_root && node->kind == FS_KIND_FRAME;
}

/* Pins @node, which is not idle any more, by its open descriptor; locked. */
static void use(struct fs_backed *node, struct fs_pin *out)
{
	node->npins++;
	fs_node_ref(&node->head);
	*out = (struct fs_pin){.node = node, .fd = node->fd};
}

/*
 * Pins @node if it is open, or else the nearest open directory above it; then
 * *@next is the node one step below that, with a reference.  A topmost node is
 * always open.
 */
static void pin_nearest(struct fs_tree *tree, struct fs_backed *node,
			struct fs_pin *out, struct fs_backed **next,
			char name[FS_NAME_SIZE])
{
	B2F_HOLD(&tree->volume.fs->state_lock);

	*next = NULL;
	while (node->fd < 0) {
		*next = node;
		node = node->parent;
	}
	fs_tree_busy(tree, node);
	use(node, out);
	if (*next) {
		fs_node_ref(&(*next)->head);
		snprintf(name, FS_NAME_SIZE, "%s", (*next)->name);
	}
}

static bool is_elsewhere(const struct fs_tree *tree,
			 const struct fs_backed *node, int fd)
{
	return node->kind == FS_KIND_DIR &&
	       fs_tree_mount_of(fd) != tree->base_mount;
}

void fs_tree_pin_opened(struct fs_tree *tree, struct fs_backed *node, int fd,
			struct fs_pin *out)
{
	bool elsewhere = is_elsewhere(tree, node, fd);
	/* Left over if another thread opened it first. */
	int spare = fd;

	if (follows_name(node)) {
		fs_node_ref(&node->head);
		*out = (struct fs_pin){.node = node, .fd = fd, .owned = true};
		return;
	}
	pthread_mutex_lock(&tree->volume.fs->state_lock);
	fs_tree_busy(tree, node);
	if (node->fd < 0) {
		node->fd = fd;
		node->is_elsewhere = elsewhere;
		spare = -1;
	}
	use(node, out);
	pthread_mutex_unlock(&tree->volume.fs->state_lock);
	fs_dir_close(spare);
}

/* Do the creation times show two different files? */
static bool differ(int64_t a_ns, int64_t b_ns)
{
	return a_ns && b_ns && a_ns != b_ns;
}

/* Opens @node as @name in the directory @dirfd and pins it. */
static int open_node(struct fs_tree *tree, struct fs_backed *node, int dirfd,
		     const char *name, struct fs_pin *out)
{
	struct stat st;
	int64_t born_ns;
	int fd = -1;
	int err = fs_tree_look_at(tree, dirfd, name, &fd, &st, &born_ns);

	if (err == -ENOENT || err == -ENOTDIR)
		return -ESTALE;
	if (err)
		return err;
	if (!follows_name(node) &&
	    (st.st_dev != node->dev || st.st_ino != node->ino ||
	     differ(node->born_ns, born_ns))) {
		close(fd);
		return -ESTALE;
	}
	fs_tree_pin_opened(tree, node, fd, out);
	return 0;
}

/* The search of open_renamed(). */
struct search {
	ino_t ino;
	char name[FS_NAME_SIZE];
};

static int match(void *arg, int dirfd, const struct dirent *d)
{
	struct search *search = arg;

	(void)dirfd;
	if (d->d_ino != search->ino)
		return 0;
	snprintf(search->name, sizeof(search->name), "%s", d->d_name);
	return 1;
}

/* Opens @node, whose name is gone, by another one in @dir. */
static int open_renamed(struct fs_tree *tree, struct fs_backed *node,
			const struct fs_pin *dir, struct fs_pin *out)
{
	struct search search = {.ino = node->ino};
	int err;

	if (b2f_directory_each(dir->fd, ".", match, &search) != 1)
		return -ESTALE;
	err = open_node(tree, node, dir->fd, search.name, out);
	/* Without memory the next open searches again. */
	if (!err)
		(void)!fs_tree_move(tree, node, dir->node, search.name);
	return err;
}

int fs_tree_pin(struct fs_tree *tree, struct fs_backed *node,
		struct fs_pin *out)
{
	char name[FS_NAME_SIZE];
	struct fs_pin held = {0}, pin;
	struct fs_backed *next;
	int err = 0;

	/*
	 * Walk down the path, one directory at a time.  Each directory stays
	 * pinned until the next one is open; otherwise it might be closed.
	 */
	for (;;) {
		pin_nearest(tree, node, &pin, &next, name);
		fs_tree_unpin(&held);
		held = pin;
		if (!next)
			break;
		pin = (struct fs_pin){0};
		err = open_node(tree, next, held.fd, name, &pin);
		if (err == -ESTALE && next->lost_name)
			err = open_renamed(tree, next, &held, &pin);
		fs_tree_forget(next);
		if (err || next == node)
			break;
		fs_tree_unpin(&held);
		held = pin;
	}
	if (!next) {
		*out = held;
		return 0;
	}
	fs_tree_unpin(&held);
	if (!err)
		*out = pin;
	return err;
}

/* Drops one pin of @node.  Returns the descriptor to close, or -1.  Locked. */
static int release(struct fs_tree *tree, struct fs_backed *node)
{
	int fd = -1;

	if (--node->npins > 0)
		return -1;
	if (is_kept(node)) {
		TAILQ_INSERT_TAIL(&tree->idle, node, idle);
		tree->nidle++;
	} else {
		fd = node->fd;
		node->fd = -1;
	}
	return fd;
}

void fs_tree_unpin(struct fs_pin *pin)
{
	struct fs_backed *node = pin->node;
	struct fs_tree *tree;
	int fd = -1;

	if (!node)
		return;
	tree = (struct fs_tree *)node->head.volume;
	if (pin->owned) {
		fd = pin->fd;
	} else {
		pthread_mutex_lock(&tree->volume.fs->state_lock);
		fd = release(tree, node);
		if (fd < 0 && tree->nidle > tree->max_idle)
			fd = take_oldest(tree);
		pthread_mutex_unlock(&tree->volume.fs->state_lock);
	}
	fs_dir_close(fd);
	fs_tree_forget(node);
	*pin = (struct fs_pin){0};
}

void fs_tree_hold(struct fs_tree *tree, struct fs_backed *node, int fd)
{
	bool elsewhere;

	if (fd < 0)
		return;
	elsewhere = is_elsewhere(tree, node, fd);
	pthread_mutex_lock(&tree->volume.fs->state_lock);
	fs_tree_busy(tree, node);
	if (node->fd < 0) {
		node->fd = fd;
		node->is_elsewhere = elsewhere;
		fd = -1;
	}
	node->npins += node->nholds++ == 0;
	pthread_mutex_unlock(&tree->volume.fs->state_lock);
	fs_dir_close(fd);
}

void fs_tree_unhold(struct fs_tree *tree, struct fs_backed *node,
		    bool lost_name)
{
	int fd = -1;

	pthread_mutex_lock(&tree->volume.fs->state_lock);
	if (lost_name)
		node->lost_name = true;
	/* Another request may have deleted it meanwhile, or be about to. */
	if (node->nholds > 0 && --node->nholds == 0 && !node->retired)
		fd = release(tree, node);
	pthread_mutex_unlock(&tree->volume.fs->state_lock);
	fs_dir_close(fd);
}

int fs_tree_pin_parent(struct fs_tree *tree, struct fs_backed *node,
		       struct fs_pin *out, char name[FS_NAME_SIZE])
{
	struct fs_backed *parent;
	int err;

	pthread_mutex_lock(&tree->volume.fs->state_lock);
	parent = node->parent;
	/* The kernel gave us the name, so it fits. */
	snprintf(name, FS_NAME_SIZE, "%s", node->name);
	fs_node_ref(&parent->head);
	pthread_mutex_unlock(&tree->volume.fs->state_lock);
	err = fs_tree_pin(tree, parent, out);
	/* The pin has its own reference. */
	fs_tree_forget(parent);
	return err;
}
