/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_node.c - what is in an object store, or on a web server, as nodes */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "packs.h"
#include "bucket_node.h"
#include "view.h"

/* Frames that stay open without being used, and for how long. */
#define IDLE_MAX 64
#define IDLE_S	 5

/* The bit in the number of a view; nodes are at multiples of 8. */
#define VIEW_BIT 2

uint64_t fs_bucket_node_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct fs_bucket_entry fs_bucket_entry_of(const struct fs_bucket *bucket,
					  fuse_ino_t ino)
{
	if (ino == FUSE_ROOT_ID)
		return (struct fs_bucket_entry){.node = bucket->root};
	return (struct fs_bucket_entry){
		.node = (struct fs_bucket_node *)(uintptr_t)(ino & ~(fuse_ino_t)
									  VIEW_BIT),
		.is_view = ino & VIEW_BIT,
	};
}

fuse_ino_t fs_bucket_ino_of(const struct fs_bucket *bucket,
			    const struct fs_bucket_entry *entry)
{
	if (entry->node == bucket->root)
		return FUSE_ROOT_ID;
	return (fuse_ino_t)(uintptr_t)entry->node |
	       (entry->is_view ? VIEW_BIT : 0);
}

char *fs_bucket_node_join(const char *dir, const char *name)
{
	char *path = NULL;

	if (asprintf(&path, "%s%s%s", dir, *dir && *name ? "/" : "", name) < 0)
		return NULL;
	return path;
}

/* FNV-1a: the same at every mount; those of views have the bit that is off. */
uint64_t fs_bucket_node_number(const char *path)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	if (!*path)
		return FUSE_ROOT_ID;
	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * UINT64_C(0x100000001b3);
	return h & ~(UINT64_C(3) << 62);
}

static struct fs_bucket_path *new_path(const char *text)
{
	size_t size = strlen(text) + 1;
	struct fs_bucket_path *path = malloc(sizeof(*path) + size);

	if (path)
		memcpy(path->text, text, size);
	return path;
}

static void free_paths(struct fs_bucket_path *path)
{
	while (path) {
		struct fs_bucket_path *before = path->before;

		free(path);
		path = before;
	}
}

/* Gives @node the path @new, which it takes over. */
static void set_path(struct fs_bucket_node *node, struct fs_bucket_path *new)
{
	new->before = node->paths;
	node->paths = new;
	node->path = new->text;
	node->ino = fs_bucket_node_number(new->text);
}

void fs_bucket_node_free(struct fs_bucket_node *node)
{
	if (!node)
		return;
	b2f_file_close(node->file);
	/* After the close, which deletes what was not committed. */
	b2f_remote_remains_free(node->writing.remains);
	fs_bucket_names_put(node->names);
	if (node->pack)
		fs_packs_put(node->pack->fs, node->pack, 1);
	free_paths(node->paths);
	free(node);
}

struct fs_bucket_node *fs_bucket_node_new(enum fs_bucket_kind kind,
				       const char *path)
{
	struct fs_bucket_node *node = calloc(1, sizeof(*node));
	struct fs_bucket_path *first = new_path(path);

	if (!node || !first) {
		free(first);
		free(node);
		return NULL;
	}
	set_path(node, first);
	node->kind = kind;
	node->nrefs = 1;
	node->checked_ms = fs_bucket_node_ms();
	return node;
}

/* From now on nothing uses the file of @node.  Locked, as the next two. */
static void add_idle(struct fs_bucket *r, struct fs_bucket_node *node)
{
	node->idle_s = fs_clock_s();
	TAILQ_INSERT_TAIL(&r->idle, node, idle);
	r->nidle++;
}

static void remove_idle(struct fs_bucket *r, struct fs_bucket_node *node)
{
	TAILQ_REMOVE(&r->idle, node, idle);
	r->nidle--;
}

/* Takes the file, which nothing uses, out of @node; NULL: it has none. */
static struct b2f_file *take_file(struct fs_bucket *r,
				  struct fs_bucket_node *node)
{
	struct b2f_file *file = node->nopens ? NULL : node->file;

	if (file) {
		remove_idle(r, node);
		node->file = NULL;
	}
	return file;
}

/* Locked. */
static void unhash(struct fs_bucket *r, struct fs_bucket_node *node)
{
	if (node->is_present)
		HASH_DELETE(hh, r->present, node);
	node->is_present = false;
}

void fs_bucket_node_note_view(struct fs_bucket *r, struct fs_bucket_node *node)
{
	pthread_mutex_lock(&r->lock);
	node->has_view = true;
	pthread_mutex_unlock(&r->lock);
}

void fs_bucket_node_retire(struct fs_bucket *r, struct fs_bucket_node *node)
{
	pthread_mutex_lock(&r->lock);
	unhash(r, node);
	pthread_mutex_unlock(&r->lock);
}

void fs_bucket_node_ref(struct fs_bucket *r, struct fs_bucket_node *node)
{
	pthread_mutex_lock(&r->lock);
	node->nrefs++;
	pthread_mutex_unlock(&r->lock);
}

void fs_bucket_node_put(struct fs_bucket *r, struct fs_bucket_node *node,
			uint64_t n)
{
	struct b2f_file *file = NULL;
	bool last;

	if (node == r->root)
		return;
	pthread_mutex_lock(&r->lock);
	node->nrefs -= n;
	last = node->nrefs == 0;
	if (last) {
		unhash(r, node);
		TAILQ_REMOVE(&r->all, node, all);
		file = take_file(r, node);
	}
	pthread_mutex_unlock(&r->lock);
	b2f_file_close(file);
	if (last)
		fs_bucket_node_free(node);
}

void fs_bucket_node_fini(struct fs_bucket *r)
{
	struct fs_bucket_node *node;

	HASH_CLEAR(hh, r->present);
	while ((node = TAILQ_FIRST(&r->all))) {
		TAILQ_REMOVE(&r->all, node, all);
		fs_bucket_node_free(node);
	}
	fs_bucket_node_free(r->root);
	r->root = NULL;
}

int fs_bucket_node_make_root(struct fs_bucket *r, struct fs_bucket_names *names)
{
	r->root = fs_bucket_node_new(FS_BUCKET_DIR, "");
	if (!r->root)
		return -ENOMEM;
	r->root->names = names;
	/* Those that were given are for ever. */
	r->root->listed_ms = names ? UINT64_MAX : 0;
	return 0;
}

struct fs_bucket_node *fs_bucket_node_present(struct fs_bucket *r,
					  const char *path)
{
	struct fs_bucket_node *node;

	pthread_mutex_lock(&r->lock);
	HASH_FIND_STR(r->present, path, node);
	if (node)
		node->nrefs++;
	pthread_mutex_unlock(&r->lock);
	return node;
}

/* Makes @node what its path is; locked. */
static void hash(struct fs_bucket *r, struct fs_bucket_node *node)
{
	HASH_ADD_KEYPTR(hh, r->present, node->path, strlen(node->path), node);
	node->is_present = true;
}

/*
 * Takes the node @path off the table, with its file if nothing uses that: it is found
 * no more.  Locked.
 */
static struct b2f_file *replace(struct fs_bucket *r, const char *path)
{
	struct fs_bucket_node *known;

	HASH_FIND_STR(r->present, path, known);
	if (!known)
		return NULL;
	unhash(r, known);
	return take_file(r, known);
}

int fs_bucket_node_move(struct fs_bucket *r, struct fs_bucket_node *node,
			const char *path, const struct b2f_frame_stamp *stamp)
{
	struct fs_bucket_path *new = new_path(path);
	struct b2f_file *old_file;

	if (!new)
		return -ENOMEM;
	pthread_mutex_lock(&r->lock);
	unhash(r, node);
	old_file = replace(r, path);
	set_path(node, new);
	hash(r, node);
	node->stamp = *stamp;
	node->checked_ms = fs_bucket_node_ms();
	pthread_mutex_unlock(&r->lock);
	b2f_file_close(old_file);
	return 0;
}

void fs_bucket_node_restore(struct fs_bucket *r, struct fs_bucket_node *node)
{
	struct b2f_file *old_file = NULL;

	pthread_mutex_lock(&r->lock);
	if (!node->is_present && !node->writing.gone) {
		old_file = replace(r, node->path);
		hash(r, node);
	}
	pthread_mutex_unlock(&r->lock);
	b2f_file_close(old_file);
}

static bool is_same(const struct fs_bucket_node *a,
		    const struct fs_bucket_node *b)
{
	return a->kind == b->kind && a->broken == b->broken &&
	       b2f_frame_stamp_equal(&a->stamp, &b->stamp);
}

struct fs_bucket_node *fs_bucket_node_publish(struct fs_bucket *r,
				      struct fs_bucket_node *node)
{
	struct b2f_file *old_file = NULL;
	struct fs_bucket_node *known;

	pthread_mutex_lock(&r->lock);
	HASH_FIND_STR(r->present, node->path, known);
	if (known && (known->writing.is_listed || is_same(known, node))) {
		known->nrefs++;
		known->checked_ms = node->checked_ms;
	} else {
		known = NULL;
		old_file = replace(r, node->path);
		hash(r, node);
		node->serial = ++r->last_serial;
		TAILQ_INSERT_TAIL(&r->all, node, all);
		if (node->file)
			add_idle(r, node);
	}
	pthread_mutex_unlock(&r->lock);
	b2f_file_close(old_file);
	if (!known)
		return node;
	fs_bucket_node_free(node);
	return known;
}

bool fs_bucket_node_is_version(struct fs_bucket *r, struct fs_bucket_node *node,
			       const struct b2f_frame_stamp *stamp)
{
	bool is;

	pthread_mutex_lock(&r->lock);
	is = node->writing.is_listed ||
	     b2f_frame_stamp_equal(stamp, &node->stamp);
	if (is)
		node->checked_ms = fs_bucket_node_ms();
	pthread_mutex_unlock(&r->lock);
	return is;
}

bool fs_bucket_node_is_fresh(struct fs_bucket *r, struct fs_bucket_node *node)
{
	bool fresh;

	pthread_mutex_lock(&r->lock);
	fresh = node->writing.is_listed ||
		(node->checked_ms &&
		 fs_bucket_node_ms() - node->checked_ms < r->refresh_ms);
	pthread_mutex_unlock(&r->lock);
	return fresh;
}

void fs_bucket_node_doubt(struct fs_bucket *r, struct fs_bucket_node *node)
{
	pthread_mutex_lock(&r->lock);
	node->checked_ms = 0;
	pthread_mutex_unlock(&r->lock);
}

int fs_bucket_node_open_now(struct fs *fs, const char *path, struct b2f_file **file)
{
	const struct b2f_frame_options options = {
		.log = &fs->bucket->log,
	};
	struct b2f_frame *frame = NULL;
	int err = b2f_remote_open_frame(fs->bucket->place, path, &options,
					&frame);

	if (!err)
		err = b2f_file_open(fs->runtime, frame, file);
	if (err)
		b2f_frame_close(frame);
	else
		b2f_file_stay(*file);
	return err;
}

struct b2f_file *fs_bucket_node_share(struct fs_bucket *r,
				      struct fs_bucket_node *node)
{
	struct b2f_file *file;

	pthread_mutex_lock(&r->lock);
	file = node->file;
	if (file && node->nopens == 0)
		remove_idle(r, node);
	node->nopens += file != NULL;
	pthread_mutex_unlock(&r->lock);
	return file;
}

/* Opens the data again, which have to be those of the version. */
static int open_version(struct fs *fs, struct fs_bucket_node *node,
			struct b2f_file **out)
{
	struct b2f_frame_stamp stamp;
	struct b2f_file *file = NULL;
	int err;

	err = fs_bucket_node_open_now(fs, node->path, &file);
	if (err)
		return err == -ENOENT ? -ESTALE : err;
	stamp = b2f_frame_stamp_get(b2f_file_frame(file));
	if (!fs_bucket_node_is_version(fs->bucket, node, &stamp)) {
		b2f_file_close(file);
		return -ESTALE;
	}
	*out = file;
	return 0;
}

int fs_bucket_node_open(struct fs *fs, struct fs_bucket_node *node,
			struct b2f_file **out)
{
	struct fs_bucket *r = fs->bucket;
	struct b2f_file *file = node->broken ? NULL : fs_bucket_node_share(r, node);
	struct b2f_file *mine = NULL;
	int err = node->broken;

	if (!err && !file)
		err = open_version(fs, node, &mine);
	if (err)
		return err;
	if (!file) {
		pthread_mutex_lock(&r->lock);
		/* Another thread may have been faster. */
		if (!node->file) {
			node->file = mine;
			mine = NULL;
		} else if (node->nopens == 0) {
			remove_idle(r, node);
		}
		file = node->file;
		node->nopens++;
		pthread_mutex_unlock(&r->lock);
		b2f_file_close(mine);
	}
	*out = file;
	return 0;
}

/* Takes a file that was not used since @before_s, or is one too many. */
static struct b2f_file *take_idle(struct fs_bucket *r, time_t before_s)
{
	struct fs_bucket_node *oldest;
	struct b2f_file *file = NULL;

	pthread_mutex_lock(&r->lock);
	oldest = TAILQ_FIRST(&r->idle);
	if (oldest && (oldest->idle_s <= before_s || r->nidle > IDLE_MAX))
		file = take_file(r, oldest);
	pthread_mutex_unlock(&r->lock);
	return file;
}

void fs_bucket_node_close(struct fs *fs, struct fs_bucket_node *node)
{
	struct fs_bucket *r = fs->bucket;
	struct b2f_file *file = NULL;
	bool idle;

	pthread_mutex_lock(&r->lock);
	idle = --node->nopens == 0;
	/* One that was replaced is opened no more. */
	if (idle && !node->is_present) {
		file = node->file;
		node->file = NULL;
	} else if (idle) {
		add_idle(r, node);
	}
	pthread_mutex_unlock(&r->lock);
	b2f_file_close(file);
	if (idle)
		fs_wakeup_call(&fs->wakeup, false);
}

bool fs_bucket_node_tick(struct fs_bucket *r)
{
	struct b2f_file *file;
	bool more;

	while ((file = take_idle(r, fs_clock_s() - IDLE_S)))
		b2f_file_close(file);
	pthread_mutex_lock(&r->lock);
	more = r->nidle > 0;
	pthread_mutex_unlock(&r->lock);
	return more;
}
