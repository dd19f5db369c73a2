/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_node.c - objects of a bucket or of a web server, as nodes */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "packs.h"
#include "bucket_node.h"
#include "view.h"

struct fs_object *fs_object_of(struct fs_node *inode)
{
	return (struct fs_object *)(inode->owner ? inode->owner : inode);
}

char *fs_bucket_node_join(const char *dir, const char *name)
{
	return b2f_io_text("%s%s%s", dir, *dir && *name ? "/" : "", name);
}

struct stat fs_bucket_node_owned(const struct fs *fs)
{
	int64_t user = fs->options.access.user;
	int64_t group = fs->options.access.group;

	return (struct stat){
		.st_nlink = 1,
		.st_uid = user == FS_UNSET ? geteuid() : (uid_t)user,
		.st_gid = group == FS_UNSET ? getegid() : (gid_t)group,
		.st_blksize = 4096,
	};
}

/* FNV-1a: every mount gives the same numbers; views have one more bit set. */
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
		memcpy(path->chars, text, size);
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
static void set_path(struct fs_object *node, struct fs_bucket_path *new)
{
	new->before = node->paths;
	node->paths = new;
	node->path = new->chars;
	node->ino = fs_bucket_node_number(new->chars);
}

void fs_bucket_node_free(struct fs_object *node)
{
	if (!node)
		return;
	fs_file_fini(node->head.volume->fs, &node->open);
	fs_bucket_names_put(node->names);
	if (node->pack)
		fs_packs_put(node->pack);
	free_paths(node->paths);
	free(node);
}

struct fs_object *fs_bucket_node_new(struct fs_bucket *r,
					  enum fs_bucket_kind kind,
					  const char *path)
{
	struct fs_object *node = calloc(1, sizeof(*node));
	struct fs_bucket_path *first = new_path(path);

	if (!node || !first) {
		free(first);
		free(node);
		return NULL;
	}
	set_path(node, first);
	node->open.ops = r->file_ops;
	node->kind = kind;
	fs_node_init(&node->head, &r->volume, NULL);
	fs_node_init(&node->as_view, &r->volume, &node->head);
	node->as_view.is_view = true;
	node->checked_ms = fs_clock_ms();
	return node;
}

/* Takes @node off the table.  Locked. */
static void unhash(struct fs_bucket *r, struct fs_object *node)
{
	if (node->open.stays_s)
		HASH_DELETE(hh, r->present, node);
	/* A replaced version is not opened again. */
	node->open.stays_s = 0;
}

void fs_bucket_node_retire(struct fs_bucket *r, struct fs_object *node)
{
	B2F_HOLD(&r->volume.fs->state_lock);

	unhash(r, node);
}

struct fs_node *fs_bucket_node_release(struct fs_node *inode)
{
	struct fs_object *node = (struct fs_object *)inode;
	struct fs_bucket *r = (struct fs_bucket *)inode->volume;

	pthread_mutex_lock(&r->volume.fs->state_lock);
	unhash(r, node);
	TAILQ_REMOVE(&r->all, node, all);
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	fs_bucket_node_free(node);
	return NULL;
}

void fs_bucket_node_fini(struct fs_bucket *r)
{
	struct fs_object *node;

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
	r->root = fs_bucket_node_new(r, FS_BUCKET_DIR, "");
	if (!r->root)
		return -ENOMEM;
	r->volume.fs->nodes.root = &r->root->head;
	r->root->names = names;
	/* The names of a single-frame mount never change. */
	r->root->listed_ms = names ? UINT64_MAX : 0;
	return 0;
}

struct fs_object *fs_bucket_node_present(struct fs_bucket *r,
					  const char *path)
{
	struct fs_object *node;
	B2F_HOLD(&r->volume.fs->state_lock);

	HASH_FIND_STR(r->present, path, node);
	if (node && !fs_node_try_ref(&node->head))
		node = NULL;
	return node;
}

/* Makes @node the current one of its path.  Locked. */
static void hash(struct fs_bucket *r, struct fs_object *node)
{
	HASH_ADD_KEYPTR(hh, r->present, node->path, strlen(node->path), node);
	node->open.stays_s = FS_FILE_STAYS_S;
}

/*
 * Takes the node of @path off the table.  Returns its open file if it has no
 * users, for the caller to close.  Locked.
 */
static struct b2f_file *replace(struct fs_bucket *r, const char *path)
{
	struct fs_object *known;

	HASH_FIND_STR(r->present, path, known);
	if (!known)
		return NULL;
	unhash(r, known);
	return fs_file_take_unused(r->volume.fs, &known->open);
}

int fs_bucket_node_move(struct fs_bucket *r, struct fs_object *node,
			const char *path, const struct b2f_frame_stamp *stamp)
{
	struct fs_bucket_path *new = new_path(path);
	struct b2f_file *old_file;

	if (!new)
		return -ENOMEM;
	pthread_mutex_lock(&r->volume.fs->state_lock);
	unhash(r, node);
	old_file = replace(r, path);
	set_path(node, new);
	hash(r, node);
	node->stamp = *stamp;
	node->checked_ms = fs_clock_ms();
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	b2f_file_close(old_file);
	return 0;
}

void fs_bucket_node_restore(struct fs_bucket *r, struct fs_object *node)
{
	struct b2f_file *old_file = NULL;

	pthread_mutex_lock(&r->volume.fs->state_lock);
	if (!node->open.stays_s && !atomic_load(&node->open.gone)) {
		old_file = replace(r, node->path);
		hash(r, node);
	}
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	b2f_file_close(old_file);
}

static bool is_same(const struct fs_object *a,
		    const struct fs_object *b)
{
	return a->kind == b->kind && a->unreadable == b->unreadable &&
	       b2f_frame_stamp_equal(&a->stamp, &b->stamp);
}

struct fs_object *fs_bucket_node_publish(struct fs_bucket *r,
				      struct fs_object *node)
{
	struct b2f_file *old_file = NULL;
	struct fs_object *known;

	pthread_mutex_lock(&r->volume.fs->state_lock);
	HASH_FIND_STR(r->present, node->path, known);
	if (known && (known->writing.is_listed || is_same(known, node)) &&
	    fs_node_try_ref(&known->head)) {
		known->checked_ms = node->checked_ms;
	} else {
		known = NULL;
		old_file = replace(r, node->path);
		hash(r, node);
		TAILQ_INSERT_TAIL(&r->all, node, all);
		if (node->open.data)
			fs_file_rest(r->volume.fs, &node->open);
	}
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	b2f_file_close(old_file);
	if (!known)
		return node;
	fs_bucket_node_free(node);
	return known;
}

bool fs_bucket_node_is_version(struct fs_bucket *r, struct fs_object *node,
			       const struct b2f_frame_stamp *stamp)
{
	B2F_HOLD(&r->volume.fs->state_lock);
	bool is = node->writing.is_listed ||
		  b2f_frame_stamp_equal(stamp, &node->stamp);

	if (is)
		node->checked_ms = fs_clock_ms();
	return is;
}

bool fs_bucket_node_is_fresh(struct fs_bucket *r, struct fs_object *node)
{
	B2F_HOLD(&r->volume.fs->state_lock);

	return node->writing.is_listed ||
	       (node->checked_ms &&
		fs_clock_ms() - node->checked_ms < r->refresh_ms);
}

int fs_bucket_node_open_now(struct fs *fs, const char *path, struct b2f_file **file)
{
	const struct b2f_frame_options options = {
		.log = &fs->bucket->messages,
		.reserve = b2f_runtime_reserve(fs->runtime),
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

/* Opens the data again; they have to be of the same version. */
static int open_version(struct fs *fs, struct fs_object *node,
			struct b2f_file **out)
{
	struct b2f_frame_stamp stamp;
	struct b2f_file *file = NULL;
	int err = fs_bucket_node_open_now(fs, node->path, &file);

	/* Another client has just removed the frame, or is replacing it. */
	if (err == -ENOENT || err == B2F_ENOTFRAME)
		return -ESTALE;
	if (err)
		return err;
	stamp = b2f_frame_stamp_get(b2f_file_frame(file));
	if (!fs_bucket_node_is_version(fs->bucket, node, &stamp)) {
		b2f_file_close(file);
		return -ESTALE;
	}
	*out = file;
	return 0;
}

int fs_bucket_node_open(struct fs *fs, struct fs_object *node,
			struct b2f_file **out)
{
	struct b2f_file *file = NULL;
	int err = node->unreadable;

	if (err)
		return err;
	*out = fs_file_share(fs, &node->open);
	if (*out)
		return 0;
	err = open_version(fs, node, &file);
	if (!err)
		*out = fs_file_add(fs, &node->open, file);
	else if (err == -ESTALE)
		node->checked_ms = 0;
	return err;
}

