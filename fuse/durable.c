/* SPDX-License-Identifier: BSD-3-Clause */
/* durable.c - the table of frames that are not durable yet */
#include "durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "dir.h"
#include "fs.h"
#include "wakeup.h"

static bool has_sync(struct fs *fs, dev_t dev)
{
	const struct fs_sync *s;
	B2F_HOLD(&fs->state_lock);

	for (s = fs->durables.syncs; s && s->dev != dev;)
		s = s->next;
	return s;
}

void fs_durable_free_sync(struct fs_sync *sync)
{
	fs_dir_close(sync->fd);
	free(sync);
}

void fs_durable_add_sync(struct fs *fs, struct fs_sync *sync)
{
	struct fs_sync *s;

	pthread_mutex_lock(&fs->state_lock);
	for (s = fs->durables.syncs; s && s->dev != sync->dev;)
		s = s->next;
	if (!s) {
		sync->next = fs->durables.syncs;
		fs->durables.syncs = sync;
	}
	pthread_mutex_unlock(&fs->state_lock);
	if (s)
		fs_durable_free_sync(sync);
	else
		fs_wakeup_call(&fs->wakeup, false);
}

/* Has the ticker sync @dev through @path_fd, a directory or file on it. */
static void sync_later(struct fs *fs, int path_fd, dev_t dev)
{
	struct fs_sync *later;

	if (has_sync(fs, dev))
		return;
	later = calloc(1, sizeof(*later));
	if (!later) {
		/* The next frame that waits for a sync tries again. */
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"sync later: no memory");
		return;
	}
	later->fd = fs_dir_open_to_sync(path_fd);
	later->dev = dev;
	later->since_s = fs_clock_s();
	fs_durable_add_sync(fs, later);
}

/*
 * The same for the filesystem of @node, which @path_fd is on, too.  Keeps the
 * directory open instead of the file itself.
 */
static void sync_node_later(struct fs *fs, struct fs_backed *node, int path_fd,
			    dev_t dev)
{
	char name[FS_NAME_SIZE];
	FS_PIN(parent);
	struct stat st;

	if (has_sync(fs, dev))
		return;
	if (node->sparse || fs_tree_pin_parent(fs->tree, node, &parent, name) ||
	    fstat(parent.fd, &st) || st.st_dev != dev)
		sync_later(fs, path_fd, dev);
	else
		sync_later(fs, parent.fd, dev);
}

static bool is_durable(const struct fs_durable *d)
{
	return b2f_durability_get(&d->contents) == B2F_DISK_DURABLE;
}

/*
 * All functions up to those of the header are called locked.
 *
 * Has another file the inode number of @node, whose file is gone?  Another
 * program has deleted that.
 */
static bool is_gone(const struct fs_backed *node)
{
	return node->retired && !node->state.renewed;
}

/* Finds a record, perhaps of a file that is gone. */
static struct fs_durable *find_any(struct fs *fs, dev_t dev, ino_t ino)
{
	struct fs_durable_key key;
	struct fs_durable *d;

	memset(&key, 0, sizeof(key));
	key.dev = dev;
	key.ino = ino;
	HASH_FIND(hh, fs->durables.all, &key, sizeof(key), d);
	return d;
}

static bool is_left_over(const struct fs_durable *d)
{
	return d->nusers == 0 && is_gone(d->node);
}

static struct fs_durable *find(struct fs *fs, dev_t dev, ino_t ino)
{
	struct fs_durable *d = find_any(fs, dev, ino);

	return d && is_left_over(d) ? NULL : d;
}

struct fs_backed *fs_durable_drop(struct fs *fs, struct fs_durable *d)
{
	struct fs_backed *node = d->node;

	if (node)
		HASH_DEL(fs->durables.all, d);
	d->node = NULL;
	if (d->nusers == 0)
		free(d);
	return node;
}

/*
 * Gets the record of @node, perhaps a new one; NULL: no memory.  *@dropped: the
 * node of a file that is gone, as of fs_durable_drop(), or NULL.
 */
static struct fs_durable *get(struct fs *fs, struct fs_backed *node, dev_t dev,
			      ino_t ino, struct fs_backed **dropped)
{
	struct fs_durable *old = find_any(fs, dev, ino), *d;

	*dropped = NULL;
	if (old && !is_left_over(old))
		return old;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	if (old)
		*dropped = fs_durable_drop(fs, old);
	d->key.dev = dev;
	d->key.ino = ino;
	fs_node_ref(&node->head);
	d->node = node;
	HASH_ADD(hh, fs->durables.all, key, sizeof(d->key), d);
	return d;
}

bool fs_durable_is_done(const struct fs_durable *d)
{
	return d->nusers == 0 && (!d->node || (!d->name_at && is_durable(d)));
}

/* Drops @d if it holds no facts any more.  Returns as fs_durable_drop(). */
static struct fs_backed *drop_if_done(struct fs *fs, struct fs_durable *d)
{
	return fs_durable_is_done(d) ? fs_durable_drop(fs, d) : NULL;
}

/* Unlocks, then gives back the node of a dropped record, or NULL. */
static void unlock(struct fs *fs, struct fs_backed *dropped)
{
	pthread_mutex_unlock(&fs->state_lock);
	fs_tree_forget(dropped);
}

/* Notes that @node has a new name, and perhaps new contents. */
static bool note_named(struct fs *fs, struct fs_backed *node, bool is_new)
{
	struct fs_backed *dropped = NULL;
	struct fs_durable *d = NULL;

	pthread_mutex_lock(&fs->state_lock);
	/* Without memory the name is as durable as after any rename. */
	if (is_new || !is_gone(node))
		d = get(fs, node, node->dev, node->ino, &dropped);
	if (d)
		d->name_at = ++fs->durables.clock;
	if (d && is_new) {
		d->left_at = d->name_at;
		(void)b2f_durability_move(&d->contents, B2F_DISK_DURABLE,
					  B2F_DISK_NEW);
	}
	unlock(fs, dropped);
	return d;
}

int fs_durable_note_made(struct fs *fs, struct fs_backed *node, int dirfd)
{
	if (!note_named(fs, node, true))
		return -ENOMEM;
	sync_later(fs, dirfd, node->dev);
	return 0;
}

void fs_durable_note_changed(struct fs *fs, struct fs_backed *node, int path_fd)
{
	if (note_named(fs, node, false))
		sync_node_later(fs, node, path_fd, node->dev);
}

void fs_durable_note_form(struct fs *fs, struct fs_open_frame *frame, int dirfd)
{
	struct fs_durables *all = &fs->durables;
	struct fs_backed *dropped = NULL;
	struct fs_durable *d, *old;

	pthread_mutex_lock(&fs->state_lock);
	d = frame->durable;
	if (d && d->node) {
		old = find_any(fs, d->key.dev, frame->ino);
		if (old)
			dropped = fs_durable_drop(fs, old);
		HASH_DEL(all->all, d);
		d->key.ino = frame->ino;
		HASH_ADD(hh, all->all, key, sizeof(d->key), d);
		d->left_at = d->name_at = ++all->clock;
	}
	unlock(fs, dropped);
	sync_later(fs, dirfd, frame->dev);
}

void fs_durable_forget(struct fs *fs, struct fs_backed *node)
{
	struct fs_durable *d;

	pthread_mutex_lock(&fs->state_lock);
	d = find_any(fs, node->dev, node->ino);
	/* The number may be another file's. */
	if (d && is_gone(node) && d->node != node)
		d = NULL;
	unlock(fs, d ? fs_durable_drop(fs, d) : NULL);
}

struct b2f_durability *fs_durable_open(struct fs *fs,
				       struct fs_open_frame *frame)
{
	struct fs_backed *dropped = NULL;
	struct fs_durable *d;

	pthread_mutex_lock(&fs->state_lock);
	if (!frame->durable) {
		frame->durable = get(fs, frame->pin.node, frame->dev,
				     frame->ino, &dropped);
		if (frame->durable)
			frame->durable->nusers++;
	}
	d = frame->durable;
	unlock(fs, dropped);
	return d ? &d->contents : NULL;
}

void fs_durable_close(struct fs *fs, struct fs_open_frame *frame)
{
	struct fs_durable *d = frame->durable;
	bool left;

	if (!d)
		return;
	pthread_mutex_lock(&fs->state_lock);
	d->nusers--;
	d->left_at = ++fs->durables.clock;
	left = d->node && !is_durable(d);
	unlock(fs, drop_if_done(fs, d));
	frame->durable = NULL;
	if (left)
		sync_node_later(fs, frame->pin.node, frame->pin.fd, frame->dev);
}

/* The state of one frame in the table at one moment. */
struct look {
	dev_t dev;
	ino_t ino;
	enum b2f_durable_state state;
	uint64_t left_at;
	uint64_t name_at;
};

static struct look look_at(struct fs *fs, dev_t dev, ino_t ino)
{
	struct look look = {.dev = dev, .ino = ino};
	B2F_HOLD(&fs->state_lock);
	const struct fs_durable *d = find(fs, dev, ino);

	if (d) {
		look.state = b2f_durability_get(&d->contents);
		look.left_at = d->left_at;
		look.name_at = d->name_at;
	}
	return look;
}

/*
 * Notes what a sync has made durable, unless that changed since @look.  Call
 * this after the sync: another fsync may wait for the same.
 */
static void note_synced(struct fs *fs, const struct look *look, bool name)
{
	struct fs_backed *dropped = NULL;
	struct fs_durable *d;

	pthread_mutex_lock(&fs->state_lock);
	d = find(fs, look->dev, look->ino);
	if (d && name && d->name_at == look->name_at)
		d->name_at = 0;
	if (d && !name && d->nusers == 0 && d->left_at == look->left_at)
		(void)b2f_durability_move(&d->contents, look->state,
					  B2F_DISK_DURABLE);
	if (d)
		dropped = drop_if_done(fs, d);
	unlock(fs, dropped);
}

static void note_failed(struct fs *fs, const struct look *look)
{
	B2F_HOLD(&fs->state_lock);
	struct fs_durable *d = find(fs, look->dev, look->ino);

	if (d)
		b2f_durability_fail(&d->contents);
}

enum b2f_durable_state fs_durable_state(struct fs *fs, dev_t dev, ino_t ino)
{
	return look_at(fs, dev, ino).state;
}

int fs_durable_make_contents(struct fs *fs, dev_t dev, ino_t ino, int path_fd)
{
	const struct look look = look_at(fs, dev, ino);
	/* The record itself may go meanwhile. */
	struct b2f_durability contents = {.state = look.state};
	int err = b2f_durability_sync(&contents, fs_dir_sync, path_fd);

	if (err)
		note_failed(fs, &look);
	else
		note_synced(fs, &look, false);
	return err;
}

int fs_durable_make_name(struct fs *fs, const struct fs_open_frame *frame)
{
	const struct look look = look_at(fs, frame->dev, frame->ino);
	char name[FS_NAME_SIZE];
	struct fs_pin parent = {0};
	int err;

	if (!look.name_at)
		return 0;
	err = fs_tree_pin_parent(fs->tree, frame->pin.node, &parent, name);
	if (!err)
		err = fs_dir_sync_names(parent.fd);
	fs_tree_unpin(&parent);
	/* It may be unreadable, or other programs have moved it. */
	if (err == -EACCES || err == -ESTALE)
		err = fs_dir_sync_filesystem(frame->pin.fd);
	if (!err)
		note_synced(fs, &look, true);
	return err;
}
