/* SPDX-License-Identifier: BSD-3-Clause */
/* durable_sync.c - syncs whole filesystems, and handles their failures */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/error.h"
#include "dir.h"
#include "durable.h"
#include "fs.h"
#include "resolve.h"
#include "wakeup.h"

/* A waiting frame keeps its node in memory. */
#define WAITING_MAX 20000

bool fs_durable_sync_waits(struct fs *fs)
{
	B2F_HOLD(&fs->state_lock);

	return fs->durables.syncs;
}

/*
 * Takes a sync that has waited for @age_s seconds, or any if many frames wait;
 * or NULL.
 */
static struct fs_sync *take_sync(struct fs *fs, time_t age_s)
{
	time_t now = fs_clock_s();
	struct fs_sync **p, *s;
	B2F_HOLD(&fs->state_lock);

	if (HASH_COUNT(fs->durables.all) > WAITING_MAX)
		age_s = 0;
	p = &fs->durables.syncs;
	while (*p && now - (*p)->since_s < age_s)
		p = &(*p)->next;
	s = *p;
	if (s)
		*p = s->next;
	return s;
}

/* Would a sync of @dev make a part of @d durable?  Locked. */
static bool is_left(const struct fs_durable *d, dev_t dev)
{
	return d->key.dev == dev &&
	       (d->name_at ||
		(d->nusers == 0 &&
		 b2f_durability_get(&d->contents) == B2F_DISK_NEW));
}

/* Does any frame on @dev wait for a sync?  *@until: the clock now. */
static bool begin_sync(struct fs *fs, dev_t dev, uint64_t *until)
{
	const struct fs_durables *all = &fs->durables;
	struct fs_durable *d, *next;
	bool left = false;
	B2F_HOLD(&fs->state_lock);

	HASH_ITER (hh, all->all, d, next)
		left = left || is_left(d, dev);
	*until = all->clock;
	return left;
}

/* Notes for @d that a sync which began at @until succeeded.  Locked. */
static void settle_one(struct fs_durable *d, uint64_t until)
{
	if (d->name_at <= until)
		d->name_at = 0;
	if (d->nusers == 0 && d->left_at <= until)
		(void)b2f_durability_move(&d->contents, B2F_DISK_NEW,
					  B2F_DISK_DURABLE);
}

/* Allocates room for all nodes of the table; *@n will count them.  Locked. */
static struct fs_backed **new_list(const struct fs_durables *all, size_t *n)
{
	*n = 0;
	return calloc(HASH_COUNT(all->all) + 1, sizeof(struct fs_backed *));
}

static void settle_sync(struct fs *fs, dev_t dev, uint64_t until)
{
	struct fs_durables *all = &fs->durables;
	struct fs_durable *d, *next;
	B2F_OWN struct fs_backed **dropped = NULL;
	size_t n;

	pthread_mutex_lock(&fs->state_lock);
	dropped = new_list(all, &n);
	HASH_ITER (hh, all->all, d, next) {
		if (d->key.dev != dev)
			continue;
		settle_one(d, until);
		/* Without memory the record stays until the next sync. */
		if (dropped && fs_durable_is_done(d))
			dropped[n++] = fs_durable_drop(fs, d);
	}
	pthread_mutex_unlock(&fs->state_lock);
	while (n > 0)
		fs_tree_forget(dropped[--n]);
}

/*
 * Notes that a sync of @dev failed: the data of any file may be lost.  Only
 * frames can be written again; if others wait, gives them up with -EIO.
 */
static int fail_sync(struct fs *fs, dev_t dev)
{
	const struct fs_durables *all = &fs->durables;
	struct fs_durable *d, *next;
	int err = 0;
	B2F_HOLD(&fs->state_lock);

	HASH_ITER (hh, all->all, d, next) {
		if (d->key.dev != dev)
			continue;
		if (d->node && d->node->kind != FS_KIND_FRAME) {
			err = -EIO;
			d->name_at = 0;
		} else {
			b2f_durability_fail(&d->contents);
		}
	}
	return err;
}

/* Does @d need a commit?  Locked. */
static bool needs_commit(const struct fs_durable *d, dev_t dev)
{
	return d->key.dev == dev && d->nusers == 0 &&
	       b2f_durable_needs_commit(b2f_durability_get(&d->contents));
}

/* Lists, with references, the nodes on @dev that @is is true for. */
static struct fs_backed **
list(struct fs *fs, dev_t dev,
     bool (*is)(const struct fs_durable *d, dev_t dev), size_t *n)
{
	struct fs_durables *all = &fs->durables;
	struct fs_durable *d, *next;
	struct fs_backed **nodes;
	B2F_HOLD(&fs->state_lock);

	nodes = new_list(all, n);
	HASH_ITER (hh, all->all, d, next) {
		if (!nodes || !d->node || !is(d, dev))
			continue;
		fs_node_ref(&d->node->head);
		nodes[(*n)++] = d->node;
	}
	return nodes;
}

/* Writes again what a sync of the frame @node has failed for. */
static int mend(struct fs *fs, struct fs_backed *node)
{
	struct fs_open_frame *frame;
	int err = fs_open_frame_get(fs, node, &frame, NULL);

	if (err)
		return err;
	err = fs_open_frame_commit(fs, frame, B2F_COMMIT_DURABLE);
	fs_open_frame_put(fs, frame);
	return err;
}

/* Makes the contents of a frame durable; @node: its node, or NULL. */
static int make(struct fs *fs, struct fs_backed *node, dev_t dev, ino_t ino,
		int path_fd)
{
	if (node && b2f_durable_needs_commit(fs_durable_state(fs, dev, ino)))
		return mend(fs, node);
	return fs_durable_make_contents(fs, dev, ino, path_fd);
}

int fs_durable_sync_found(struct fs *fs, struct fs_backed *node,
			  const struct fs_found *found)
{
	const struct stat *st = &found->probe.st;
	/* A sync would not be noted for a frame that is still being closed. */
	struct fs_open_frame *frame =
		node ? fs_open_frame_peek(fs, node, true) : NULL;
	int err;

	if (!frame)
		return make(fs, node, st->st_dev, st->st_ino, found->probe.fd);
	err = fs_open_frame_commit(fs, frame, B2F_COMMIT_DURABLE);
	fs_open_frame_put(fs, frame);
	return err;
}

/* The same for all frames on @dev.  Returns the first error. */
static int mend_all(struct fs *fs, dev_t dev)
{
	size_t n;
	B2F_OWN struct fs_backed **nodes = list(fs, dev, needs_commit, &n);
	int first = nodes ? 0 : -ENOMEM;

	for (size_t i = 0; i < n; i++) {
		int err = mend(fs, nodes[i]);

		/*
		 * Another program has deleted the frame, or renamed it: then
		 * the record waits for its next open.
		 */
		if (err != -ESTALE && err != -ENOENT && !first)
			first = err;
		fs_tree_forget(nodes[i]);
	}
	return first;
}

/* Opens a file on @dev: the root, or any frame that waits. */
static int open_on(struct fs *fs, dev_t dev)
{
	const struct fs_backed *root = fs->tree->root;
	size_t n;
	B2F_OWN struct fs_backed **nodes = list(fs, dev, is_left, &n);
	int fd = root->dev == dev ? fs_dir_open_to_sync(root->fd) : -ESTALE;

	for (size_t i = 0; i < n; i++) {
		FS_PIN(pin);

		if (fd < 0 && fs_tree_pin(fs->tree, nodes[i], &pin) == 0)
			fd = fs_dir_open_to_sync(pin.fd);
		fs_tree_forget(nodes[i]);
	}
	return fd;
}

/*
 * Syncs the filesystem.  A failure is noted for each frame on it; *@lost: an
 * error if other files waited, too.
 */
static int sync_device(struct fs *fs, struct fs_sync *sync, int *lost)
{
	uint64_t until;
	bool left = begin_sync(fs, sync->dev, &until);

	if (left && sync->fd < 0)
		sync->fd = open_on(fs, sync->dev);
	if (left && sync->fd < 0)
		return sync->fd;
	if (left && syncfs(sync->fd)) {
		fs_logger_write(fs->logger, B2F_LOG_ERROR,
				"%s: syncfs: %s: reading and writing again the "
				"data that may be lost",
				fs->source.path, strerror(errno));
		*lost = fail_sync(fs, sync->dev);
		if (*lost)
			fs_logger_write(fs->logger, B2F_LOG_ERROR,
					"%s: changes of files that are no "
					"frames may be lost",
					fs->source.path);
	} else {
		settle_sync(fs, sync->dev, until);
	}
	return 0;
}

/* Runs @sync, which it takes over; after a failure queues it again. */
static int run_sync(struct fs *fs, struct fs_sync *sync)
{
	int lost = 0, err = sync_device(fs, sync, &lost);

	if (!err)
		err = mend_all(fs, sync->dev);
	if (!err) {
		fs_durable_free_sync(sync);
		return lost;
	}
	fs_logger_write(fs->logger, B2F_LOG_ERROR, "%s: not durable: %s",
			fs->source.path, b2f_strerror(err));
	sync->since_s = fs_clock_s();
	fs_durable_add_sync(fs, sync);
	return err;
}

int fs_durable_sync_due(struct fs *fs, time_t age_s)
{
	struct fs_sync *due = NULL, *s;
	int first = 0;

	/* Frames taken by another thread are durable when it has finished. */
	B2F_HOLD(&fs->durables.sync_lock);
	/* Take all due syncs first: those that fail are queued again. */
	while ((s = take_sync(fs, age_s))) {
		s->next = due;
		due = s;
	}
	while (due) {
		int err;

		s = due;
		due = s->next;
		err = run_sync(fs, s);
		if (!first)
			first = err;
	}
	return first;
}

static int make_node(struct fs *fs, struct fs_backed *node)
{
	FS_PIN(pin);
	int err = fs_tree_pin(fs->tree, node, &pin);

	if (err)
		return err == -ESTALE ? 0 : err;
	return make(fs, node, node->dev, node->ino, pin.fd);
}

int fs_durable_sync_now(struct fs *fs)
{
	B2F_OWN struct fs_file **files = NULL;
	size_t n = 0;
	int err = fs_file_all(fs, &files, &n), one;

	for (size_t i = 0; i < n; i++) {
		one = files[i]->ops->sync(fs, files[i]);
		err = err ? err : one;
		files[i]->ops->put(fs, files[i]);
	}
	one = fs_durable_sync_due(fs, 0);
	err = err ? err : one;
	return err ? err : atomic_load(&fs->files.lost) ? -EIO : 0;
}

int fs_durable_sync_fini(struct fs *fs)
{
	struct fs_durables *all = &fs->durables;
	int err = fs_durable_sync_due(fs, 0);
	struct fs_durable *d, *next;
	struct fs_sync *s;

	/* Sync frames that are still not durable. */
	HASH_ITER (hh, all->all, d, next) {
		int one = 0;

		if (!fs_durable_is_done(d))
			one = make_node(fs, d->node);
		if (!err)
			err = one;
	}
	HASH_ITER (hh, all->all, d, next)
		fs_tree_forget(fs_durable_drop(fs, d));
	while ((s = all->syncs)) {
		all->syncs = s->next;
		fs_durable_free_sync(s);
	}
	pthread_mutex_destroy(&all->sync_lock);
	return err;
}
