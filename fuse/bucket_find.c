/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_find.c - looks up a name in a directory of an object store */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bucket_find.h"
#include "bucket_overlay.h"
#include "packs.h"
#include "view.h"

bool fs_bucket_listing_is_fixed(const struct fs_object *dir)
{
	return dir->listed_ms == UINT64_MAX;
}

/* The listing of @dir, if it is not too old. */
static struct fs_bucket_names *share_names(const struct fs_bucket *r,
					   struct fs_object *dir)
{
	B2F_HOLD(&r->volume.fs->state_lock);
	uint64_t now = fs_clock_ms();
	double age_s = (double)(now - dir->listed_ms) / 1000;

	if (!dir->names || (now > dir->listed_ms &&
			    age_s > r->volume.fs->options.cache.attr_timeout_s))
		return NULL;
	fs_bucket_names_ref(dir->names);
	return dir->names;
}

/* Logs the hidden names, once for each change of their number. */
static void tell_hidden(struct fs_bucket *r, const struct fs_object *dir,
			size_t n)
{
	if (n)
		fs_logger_write(r->volume.fs->logger, B2F_LOG_WARNING,
				"%s%s%s: %zu name%s cannot be shown: \"\", "
				"\".\", \"..\", longer than %d bytes, or the "
				"name of a directory",
				b2f_remote_label(r->place),
				*dir->path ? "/" : "", dir->path, n,
				n == 1 ? "" : "s", NAME_MAX);
}

/*
 * Keeps @names, which were listed from @begin on.  False: they are too old,
 * because a later listing came first, after which changes were forgotten.
 */
static bool keep_names(struct fs_bucket *r, struct fs_object *dir,
		       struct fs_bucket_names *names, uint64_t begin)
{
	struct fs_bucket_names *old = NULL;
	bool keeps, is_told = true;

	pthread_mutex_lock(&r->volume.fs->state_lock);
	keeps = begin >= dir->begun_ms;
	if (keeps) {
		fs_bucket_names_ref(names);
		old = dir->names;
		dir->names = names;
		dir->begun_ms = begin;
		dir->listed_ms = fs_clock_ms();
		is_told = dir->nhidden == names->nhidden;
		dir->nhidden = names->nhidden;
	}
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	fs_bucket_names_put(old);
	if (!is_told)
		tell_hidden(r, dir, names->nhidden);
	return keeps;
}

/* How often to list a directory while later listings overtake it. */
#define LISTS_MAX 3

/*
 * The last listing is right for this request, which began before it; whoever
 * asks later needs a later one.
 */
int fs_bucket_listing_get(struct fs_bucket *r, struct fs_object *dir,
			  struct fs_bucket_names **out)
{
	int err = dir->kind == FS_BUCKET_DIR ? 0 : -ENOTDIR;
	bool keeps = false;

	*out = NULL;
	for (int i = 0; i < LISTS_MAX && !keeps && !err; i++) {
		uint64_t begin = fs_clock_ms();

		fs_bucket_names_put(*out);
		*out = share_names(r, dir);
		if (*out)
			return 0;
		err = fs_bucket_names_read(r->place, dir->path, out);
		keeps = !err && keep_names(r, dir, *out, begin);
		if (keeps)
			fs_bucket_overlay_listed(r, dir->path, *out, begin);
	}
	return err;
}

void fs_bucket_listing_forget(struct fs_bucket *r, struct fs_object *dir)
{
	struct fs_bucket_names *old = NULL;

	pthread_mutex_lock(&r->volume.fs->state_lock);
	if (!fs_bucket_listing_is_fixed(dir)) {
		old = dir->names;
		dir->names = NULL;
		dir->begun_ms = fs_clock_ms();
	}
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	fs_bucket_names_put(old);
}

/* So many doubted names are looked up for one listing. */
#define DOUBTS_MAX 16

/*
 * Does @err come from the stored bytes, so that a second look would fail, too?
 * A prefix with an index is meant to be a frame; an object may only be named
 * like one.
 */
static bool is_final(int err, bool has_index)
{
	return b2f_is_format_error(err) && (has_index || err != B2F_ENOTFRAME);
}

/* A name that is being looked up. */
struct look {
	struct fs *fs;
	const struct fs_bucket_name *name;
	char *path;
	/* The object with the version: the index, or @path itself. */
	char *key;
	/* Facts about that version. */
	bool has_version;
	struct b2f_remote_stat version;
	/* An earlier lookup found a frame. */
	bool was_frame;
};

/* Asks for the version, unless the listing gave it. */
static int look_at_version(struct look *l)
{
	int err = 0;

	if (!l->has_version)
		err = b2f_remote_look(l->fs->bucket->place, l->key,
				      &l->version);
	l->has_version = !err;
	return err;
}

static int make_frame(struct look *l, struct fs_object **out)
{
	struct fs_object *node = fs_bucket_node_new(l->fs->bucket,
							 FS_BUCKET_FRAME,
							 l->path);
	struct b2f_frame *frame;
	int err = node ? fs_bucket_node_open_now(l->fs, l->path, &node->open.data) : -ENOMEM;

	if (!err) {
		frame = b2f_file_frame(node->open.data);
		node->stamp = b2f_frame_stamp_get(frame);
		err = fs_sizes_read(frame, &node->sizes);
	} else if (is_final(err, l->name->is_dir) && !look_at_version(l)) {
		/* It is shown, but cannot be opened. */
		node->stamp = b2f_remote_stamp(&l->version);
		node->unreadable = err;
		err = 0;
	}
	if (err) {
		fs_bucket_node_free(node);
		return err;
	}
	node->sparse = l->name->is_dir;
	*out = node;
	return 0;
}

static int make_plain(const struct look *l, enum fs_bucket_kind kind,
		      struct fs_object **out)
{
	struct fs_object *node = fs_bucket_node_new(l->fs->bucket, kind,
							 l->path);

	if (!node)
		return -ENOMEM;
	if (kind == FS_BUCKET_FILE) {
		node->version = l->version;
		node->stamp = b2f_remote_stamp(&l->version);
		node->sizes.nbytes = node->sizes.cbytes = l->version.size;
	}
	*out = node;
	return 0;
}

/* The kind of the first listed keys below a prefix: none, chunks, or others. */
struct remains {
	bool has_other;
	/* An index: it has come since it was looked for. */
	bool has_index;
};

static int note_remains(void *arg, const struct b2f_remote_entry *entry)
{
	enum b2f_part part = b2f_part_of(entry->name);
	struct remains *found = arg;

	found->has_index |= part == B2F_PART_INDEX;
	/* A program that removes chunks puts a pending one. */
	found->has_other = entry->is_dir || (part != B2F_PART_CHUNK &&
					     part != B2F_PART_PENDING);
	return found->has_other;
}

/*
 * A prefix without an index is a directory.  A prefix named like a frame that
 * holds only chunks is an orphan (never committed, or being removed), and an
 * empty one was removed: neither is a name.
 */
static int make_dir(struct look *l, struct fs_object **out)
{
	struct remains found = {.has_other = false};
	int err;

	if (!l->name->stem && !l->was_frame)
		return make_plain(l, FS_BUCKET_DIR, out);
	err = b2f_remote_list(l->fs->bucket->place, l->path, note_remains,
			      &found);
	if (err < 0)
		return err;
	if (found.has_index)
		return make_frame(l, out);
	return found.has_other ? make_plain(l, FS_BUCKET_DIR, out) : -ENOENT;
}

/* The user who mounts owns it, whoever may read it. */
static struct stat pack_attributes(const struct fs *fs,
				   const struct b2f_frame_stamp *stamp)
{
	struct stat st = fs_bucket_node_owned(fs);

	st.st_mode = S_IFREG | (0444 & ~fs->config.file_mask);
	st.st_mtim.tv_sec = stamp->mtime_ns / 1000000000;
	st.st_ctim = st.st_atim = st.st_mtim;
	return st;
}

int fs_bucket_find_pack(struct fs *fs, const char *path, struct fs_pack **out)
{
	const struct b2f_frame_options options = {
		.log = &fs->bucket->messages,
		.reserve = b2f_runtime_reserve(fs->runtime),
	};
	struct b2f_pack *opened = NULL;
	struct b2f_frame_stamp stamp;
	struct stat st;
	int err = b2f_remote_open_pack(fs->bucket->place, path, &options,
				       &opened);

	if (err)
		return err;
	/* A frame may have the name of a pack; it opens as an empty pack. */
	if (b2f_pack_count(opened) == 1) {
		b2f_pack_close(opened);
		return B2F_ENOTFRAME;
	}
	stamp = b2f_pack_stamp(opened);
	st = pack_attributes(fs, &stamp);
	return fs_packs_adopt(fs, path, opened, &st, out);
}

/* Makes a node of the object @l->path, which has the name of a pack. */
static int make_pack(struct look *l, struct fs_object **out)
{
	struct fs_pack *pack = NULL;
	struct b2f_frame_stamp stamp;
	int err = 0;

	if (l->has_version) {
		stamp = b2f_remote_stamp(&l->version);
		pack = fs_packs_known(l->fs, l->path, &stamp);
	}
	if (!pack)
		err = fs_bucket_find_pack(l->fs, l->path, &pack);
	if (err)
		return err;
	*out = fs_bucket_node_new(l->fs->bucket, FS_BUCKET_DIR, l->path);
	if (!*out) {
		fs_packs_put(pack);
		return -ENOMEM;
	}
	(*out)->stamp = pack->stamp;
	(*out)->pack = pack;
	return 0;
}

/* Makes a node of what @l->path is now. */
static int make_node(struct look *l, struct fs_object **out)
{
	const struct fs_bucket_name *name = l->name;
	bool is_pack = !name->is_dir && b2f_pack_is_name(name->stored);
	int err = is_pack ? make_pack(l, out) : B2F_ENOTFRAME;

	if (!err || !is_final(err, true))
		return err;
	err = 0;
	if (!name->is_dir && !name->stem && !is_pack)
		return make_plain(l, FS_BUCKET_FILE, out);
	/* A directory without a frame's suffix is rarely a frame: ask first. */
	if (name->is_dir && !name->stem)
		err = look_at_version(l);
	if (!err)
		err = make_frame(l, out);
	if (name->is_dir && err == -ENOENT)
		return make_dir(l, out);
	if (err == B2F_ENOTFRAME)
		err = look_at_version(l);
	else
		return err;
	return err ? err : make_plain(l, FS_BUCKET_FILE, out);
}

/* Is the known @node still current for @l->path?  Returns 1, 0 or an error. */
static int check_node(struct look *l, struct fs_object *node)
{
	struct fs_bucket *r = l->fs->bucket;
	struct b2f_frame_stamp stamp = {.dev = 0};
	int err;

	/* Only the answer may have been damaged, not the stored object. */
	if (node->unreadable)
		return fs_bucket_node_is_fresh(r, node);
	if (!l->has_version && fs_bucket_node_is_fresh(r, node))
		return 1;
	err = look_at_version(l);
	if (err && err != -ENOENT)
		return err;
	/* A directory has no version to compare; any other node is gone. */
	if (err && !(l->name->is_dir && node->kind == FS_BUCKET_DIR))
		return 0;
	if (!err)
		stamp = b2f_remote_stamp(&l->version);
	return fs_bucket_node_is_version(r, node, &stamp);
}

static int find_node(struct look *l, struct fs_object **out)
{
	struct fs_bucket *r = l->fs->bucket;
	struct fs_object *node = fs_bucket_node_present(r, l->path);
	int is = node ? check_node(l, node) : 0;
	int err;

	if (is == 1) {
		*out = node;
		return 0;
	}
	l->was_frame = node && node->kind == FS_BUCKET_FRAME;
	if (node)
		fs_node_put(&node->head, 1);
	if (is < 0)
		return is;
	err = make_node(l, &node);
	if (err)
		return err;
	*out = fs_bucket_node_publish(r, node);
	return 0;
}

/* Returns the node of @name in @dir, with a reference. */
static int resolve(struct fs *fs, const struct fs_object *dir,
		   const struct fs_bucket_name *name,
		   struct fs_object **out)
{
	struct look l = {
		.fs = fs,
		.name = name,
		.has_version = !name->is_dir && *name->etag,
		.version = {.size = name->size, .mtime = name->mtime},
	};
	int err = -ENOMEM;

	snprintf(l.version.etag, sizeof(l.version.etag), "%s", name->etag);
	l.path = fs_bucket_node_join(dir->path, name->stored);
	if (l.path)
		l.key = fs_bucket_node_join(l.path,
					    name->is_dir ? B2F_INDEX_NAME : "");
	if (l.key)
		err = find_node(&l, out);
	free(l.path);
	free(l.key);
	return err;
}

/* Returns 0 or -ENOENT after the doubt has ended, or an errno. */
static int look_at(struct fs *fs, const struct fs_object *dir,
		   const struct fs_bucket_name *name)
{
	struct fs_object *node;
	int err = resolve(fs, dir, name, &node);

	if (!err)
		fs_node_put(&node->head, 1);
	if (!err || err == -ENOENT)
		fs_bucket_overlay_judge(fs->bucket, dir->path, name->shown,
					!err);
	return err;
}

/* A name that cannot be looked up now, or not for its turn, is shown. */
static void look_at_doubted(struct fs *fs, const struct fs_object *dir,
			    const struct fs_bucket_names *listed)
{
	char *shown[DOUBTS_MAX];
	size_t n = fs_bucket_overlay_doubts(fs->bucket, dir->path, shown,
					    DOUBTS_MAX);
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		const struct fs_bucket_name *name =
			fs_bucket_names_find(listed, shown[i]);

		/* If the server does not answer, ask no more. */
		if (name && (!err || err == -ENOENT))
			err = look_at(fs, dir, name);
		free(shown[i]);
	}
}

int fs_bucket_listing_names(struct fs *fs, struct fs_object *dir, bool looks,
			    struct fs_bucket_names **out)
{
	struct fs_bucket_names *listed = NULL;
	int err = fs_bucket_listing_get(fs->bucket, dir, &listed);

	if (!err && looks)
		look_at_doubted(fs, dir, listed);
	if (!err)
		err = fs_bucket_overlay_apply(fs->bucket, dir->path, listed,
					      out);
	fs_bucket_names_put(listed);
	return err;
}

int fs_bucket_find_shown(struct fs *fs, const struct fs_object *dir,
			 const struct fs_bucket_names *names, const char *name,
			 struct fs_object **out)
{
	char none[] = "", stem[FS_NAME_SIZE];
	const struct fs_bucket_name *found;
	struct fs_bucket_name there;
	struct fs_bucket_made made;
	int err;

	switch (fs_bucket_overlay_find(fs->bucket, dir->path, name, &made)) {
	case FS_BUCKET_REMOVED:
		return -ENOENT;
	case FS_BUCKET_MADE:
	case FS_BUCKET_PINNED:
		there = (struct fs_bucket_name){
			.shown = name,
			.stored = made.stored,
			.stem = fs_suffix_stem(made.stored, stem) ? stem : NULL,
			.is_dir = made.is_dir,
			.etag = none,
		};
		return resolve(fs, dir, &there, out);
	case FS_BUCKET_UNCHANGED:
	case FS_BUCKET_DOUBTED:
		break;
	}
	found = fs_bucket_names_find(names, name);
	if (!found)
		return -ENOENT;
	err = resolve(fs, dir, found, out);
	/* The object was deleted after the listing, or never committed. */
	if (err == -ENOENT &&
	    fs_bucket_overlay_note(fs->bucket, dir->path, name, "", false,
				   FS_BUCKET_REMOVED))
		return -ENOMEM;
	return err;
}

/* Finds the array whose view would have the name @name. */
static int find_view(struct fs *fs, const struct fs_object *dir,
		     const struct fs_bucket_names *names, const char *name,
		     struct fs_object **out)
{
	struct fs_object *node = NULL;
	char stem[FS_NAME_SIZE];
	int err;

	if (!fs_view_stem(fs, name, stem))
		return -ENOENT;
	err = fs_bucket_find_shown(fs, dir, names, stem, &node);
	if (err)
		return err;
	if (!node->sizes.head_len) {
		fs_node_put(&node->head, 1);
		return -ENOENT;
	}
	*out = node;
	return 0;
}

int fs_bucket_find(struct fs *fs, struct fs_object *dir, const char *name,
		   struct fs_node **out)
{
	struct fs_bucket_names *names = NULL;
	struct fs_object *node;
	int err = fs_bucket_listing_get(fs->bucket, dir, &names);

	if (err)
		return err;
	err = fs_bucket_find_shown(fs, dir, names, name, &node);
	if (!err)
		*out = &node->head;
	if (err == -ENOENT) {
		err = find_view(fs, dir, names, name, &node);
		if (!err)
			*out = &node->as_view;
	}
	fs_bucket_names_put(names);
	return err;
}
