/* SPDX-License-Identifier: BSD-3-Clause */
/* grow.c - a small frame, which is one file, becomes a directory */
#include "grow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "b2frame/file_grow.h"
#include "clock.h"
#include "fs.h"

/* So many old files stay open, besides those of frames that are open. */
#define KEPT_MAX 256

/* How much longer than attributes are cached a number is shown, seconds. */
#define LATER_S 2

/* A frame that has grown, and the file that it was. */
struct fs_grown {
	TAILQ_ENTRY(fs_grown) all;
	/* Its node with a reference, once the fd is there. */
	struct fs_turn turn;
	/* O_PATH. */
	int fd;
	/* When it was seen closed first, on the monotonic clock; 0: it is open. */
	time_t closed_s;
};

/* One growth on its way. */
struct growth {
	struct fs *fs;
	struct fs_open_frame *frame;
	/* Of the directory the frame is in. */
	int dirfd;
	struct b2f_file_now before;
	struct fs_grown *grown;
};

void fs_grow_lock_names(struct fs *fs)
{
	pthread_rwlock_rdlock(&fs->names_lock);
}

void fs_grow_unlock_names(struct fs *fs)
{
	pthread_rwlock_unlock(&fs->names_lock);
}

/* An array that has a view has another node of the same file. */
static bool has_view(struct fs *fs, const struct fs_node *node)
{
	bool has;

	pthread_mutex_lock(&fs->state_lock);
	has = node->state.has_view || node->state.unlinked;
	pthread_mutex_unlock(&fs->state_lock);
	return has;
}

static int announce(void *arg, int fd, const struct stat *dir)
{
	struct growth *g = arg;

	if (dir->st_dev != g->frame->dev || has_view(g->fs, g->grown->turn.node))
		return -EBUSY;
	g->grown->turn.fd = openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (g->grown->turn.fd < 0)
		return -errno;
	g->grown->turn.ino = dir->st_ino;
	fs_tree_turn_begin(g->fs->tree, &g->grown->turn);
	return 0;
}

/* The stamp of the index is another one, and the data are the same. */
static void note_seen(const struct growth *g)
{
	struct fs *fs = g->fs;
	struct b2f_file_now now;
	struct timespec shown;

	b2f_file_now_get(g->frame->file, &now);
	pthread_mutex_lock(&fs->state_lock);
	shown = g->frame->attr.st_ctim;
	pthread_mutex_unlock(&fs->state_lock);
	if (!g->frame->past_cache)
		fs_seen_note_commit(fs, g->grown->turn.node, &g->before, &now, &shown);
}

/* Goes on showing the number of the old file, which @fd keeps from being reused. */
static void keep_number(struct growth *g, ino_t shown, int fd)
{
	struct fs *fs = g->fs;

	if (fd < 0) {
		fs_tree_turn_forget(fs->tree, &g->grown->turn);
		return;
	}
	g->grown->fd = fd;
	fs_tree_ref(fs->tree, g->grown->turn.node);
	atomic_store(&g->grown->turn.node->shown_ino, shown);
	pthread_mutex_lock(&fs->state_lock);
	TAILQ_INSERT_TAIL(&fs->grown, g->grown, all);
	pthread_mutex_unlock(&fs->state_lock);
	g->grown = NULL;
	fs_wakeup_call(&fs->wakeup, false);
}

static void turn(void *arg, int fd, bool unsynced)
{
	struct growth *g = arg;
	struct fs *fs = g->fs;
	ino_t old = g->grown->turn.node->ino, now = g->grown->turn.ino;
	int old_fd = -1;

	fs_tree_turn_end(fs->tree, &g->grown->turn, fd >= 0, &old_fd);
	close(g->grown->turn.fd);
	if (fd < 0)
		return;
	atomic_store(&g->frame->ino, now);
	fs_durable_note_grown(fs, g->frame, unsynced ? g->dirfd : -1);
	note_seen(g);
	keep_number(g, old, old_fd);
}

/* The lock of names is held. */
static int grow(struct growth *g)
{
	struct fs *fs = g->fs;
	struct fs_node *node = g->frame->pin.node;
	char name[FS_NAME_SIZE];
	struct fs_pin parent = {0};
	struct b2f_grow how = {
		.name = name, .before = announce, .after = turn, .arg = g};
	int err;

	g->grown = calloc(1, sizeof(*g->grown));
	err = g->grown ? fs_tree_pin_parent(fs->tree, node, &parent, name)
		       : -ENOMEM;
	if (!err) {
		g->grown->turn.node = node;
		how.dirfd = g->dirfd = parent.fd;
		b2f_file_now_get(g->frame->file, &g->before);
		err = b2f_file_grow(g->frame->file, &how);
	}
	fs_tree_unpin(fs->tree, &parent);
	free(g->grown);
	return err;
}

void fs_grow_before(struct fs *fs, struct fs_open_frame *frame, const void *buf,
		    uint64_t size, uint64_t off)
{
	/* Other mounts may make small frames where this one does not. */
	uint64_t limit = fs->config.small ? fs->config.small : FS_SMALL;
	struct growth g = {.fs = fs, .frame = frame};
	int err;

	if (frame->pin.node->sparse || frame->pin.node->is_root ||
	    fs->options.writeback_cache ||
	    !b2f_file_outgrows(frame->file, buf, size, off, limit))
		return;
	pthread_rwlock_wrlock(&fs->names_lock);
	err = grow(&g);
	pthread_rwlock_unlock(&fs->names_lock);
	/* It stays one file, as the library has logged, and is slower. */
	if (err == -EINVAL && !atomic_exchange(&fs->cannot_grow, true))
		fs_logger_write(fs->logger, B2F_LOG_INFO,
				"%s: its filesystem cannot exchange names, so new "
				"files are directories from now on",
				frame->label);
}

bool fs_grow_makes_small(struct fs *fs)
{
	return fs->config.small && !atomic_load(&fs->cannot_grow);
}

ino_t fs_grow_shown_ino(struct fs *fs, dev_t dev, ino_t ino)
{
	const struct fs_node key = {
		.kind = FS_KIND_FRAME, .sparse = true, .dev = dev, .ino = ino};
	struct fs_node *node;
	bool none;

	pthread_mutex_lock(&fs->state_lock);
	none = TAILQ_EMPTY(&fs->grown);
	pthread_mutex_unlock(&fs->state_lock);
	node = none ? NULL : fs_tree_find(fs->tree, &key, false);
	if (!node)
		return ino;
	if (atomic_load(&node->shown_ino))
		ino = atomic_load(&node->shown_ino);
	fs_tree_forget(fs->tree, node, 1);
	return ino;
}

/* May the number of @grown be given back?  Locked. */
static bool is_over(const struct fs *fs, struct fs_grown *grown, bool crowded)
{
	time_t now = fs_clock_s();

	if (grown->turn.node->state.frame) {
		grown->closed_s = 0;
		return false;
	}
	if (!grown->closed_s)
		grown->closed_s = now;
	/* Its data are freed with the node. */
	return crowded || grown->turn.node->state.deleted ||
	       now - grown->closed_s >= fs->options.attr_timeout_s + LATER_S;
}

/* Takes one out of the list that is over, or any if @all. */
static struct fs_grown *take_over(struct fs *fs, bool all, bool *more)
{
	struct fs_grown *grown, *found = NULL;
	size_t n = 0;

	pthread_mutex_lock(&fs->state_lock);
	TAILQ_FOREACH (grown, &fs->grown, all)
		n++;
	TAILQ_FOREACH (grown, &fs->grown, all)
		if (!found && (all || is_over(fs, grown, n > KEPT_MAX)))
			found = grown;
	if (found)
		TAILQ_REMOVE(&fs->grown, found, all);
	*more = !TAILQ_EMPTY(&fs->grown);
	pthread_mutex_unlock(&fs->state_lock);
	return found;
}

static bool end(struct fs *fs, bool all)
{
	struct fs_grown *grown;
	bool more;

	while ((grown = take_over(fs, all, &more))) {
		atomic_store(&grown->turn.node->shown_ino, 0);
		fs_tree_turn_forget(fs->tree, &grown->turn);
		/* From here on a new file may get the number. */
		close(grown->fd);
		fs_tree_forget(fs->tree, grown->turn.node, 1);
		free(grown);
	}
	return more;
}

bool fs_grow_tick(struct fs *fs)
{
	return end(fs, false);
}

void fs_grow_fini(struct fs *fs)
{
	(void)end(fs, true);
}
