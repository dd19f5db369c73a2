/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_make.c - makes, removes and renames names in an object store */
#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/create.h"
#include "bucket_find.h"
#include "bucket_make.h"
#include "bucket_overlay.h"
#include "bucket_writer.h"

/* May a new entry in @dir have the name @name? */
static int check_name(const struct fs_object *dir, const char *name)
{
	if (strlen(name) > FS_NAME_MAX)
		return -ENAMETOOLONG;
	if (fs_bucket_listing_is_fixed(dir) ||
	    strcmp(name, B2F_INDEX_NAME) == 0)
		return -EPERM;
	return 0;
}

/* Did this mount make the entry stored or shown as @stored? */
static bool is_made(struct fs_bucket *r, const char *dir, const char *stored)
{
	struct fs_bucket_made made;
	char stem[FS_NAME_SIZE];

	(void)fs_bucket_overlay_find(r, dir, stored, &made);
	if (*made.stored)
		return true;
	if (!fs_suffix_stem(stored, stem))
		return false;
	(void)fs_bucket_overlay_find(r, dir, stem, &made);
	return strcmp(made.stored, stored) == 0;
}

/*
 * Is @key free, as a stored name and as a shown one?  A listed key may lead to
 * nothing: it was removed, or only chunks are left.  Returns 0, -EEXIST, or as
 * fs_bucket_find().
 */
static int check_free(struct fs *fs, const struct fs_object *dir,
		      const struct fs_bucket_names *names, const char *key)
{
	struct fs_object *node;
	int err;

	if (is_made(fs->bucket, dir->path, key))
		return -EEXIST;
	if (!fs_bucket_names_has_key(names, key))
		return 0;
	if (!fs_bucket_names_find(names, key))
		return -EEXIST;
	err = fs_bucket_find_shown(fs, dir, names, key, &node);
	if (err)
		return err == -ENOENT ? 0 : err;
	fs_node_put(&node->head, 1);
	return -EEXIST;
}

/* Chooses the stored name of a frame shown as @name. */
static int choose_stored(struct fs *fs, const struct fs_object *dir,
			 const struct fs_bucket_names *names, const char *name,
			 char out[FS_NAME_SIZE])
{
	enum b2f_suffix first = fs_suffix_for(name, B2F_SUFFIX_SPARSE);
	const struct fs_bucket_name *gone = fs_bucket_names_find(names, name);
	int err = check_free(fs, dir, names, name);

	if (err)
		return err;
	/*
	 * A name that is listed but free is gone, and so is its key.  Another
	 * key would be listed beside it.
	 */
	if (gone && gone->stem &&
	    !is_made(fs->bucket, dir->path, gone->stored)) {
		snprintf(out, FS_NAME_SIZE, "%s", gone->stored);
		return 0;
	}
	for (enum b2f_suffix i = 0; i < B2F_SUFFIXES; i++) {
		if (!fs_suffix_join(name, (first + i) % B2F_SUFFIXES, out))
			continue;
		err = check_free(fs, dir, names, out);
		if (err != -EEXIST)
			return err;
	}
	return -EEXIST;
}

/* Makes the node of the frame @path, which has no object yet. */
static int new_frame(struct fs *fs, const char *path, struct fs_object **out)
{
	const struct b2f_frame_options options = {
		.log = &fs->bucket->messages,
		.reserve = b2f_runtime_reserve(fs->runtime),
	};
	struct fs_object *node = NULL;
	struct b2f_frame *frame = NULL;
	int err =
		b2f_remote_make_frame(fs->bucket->place, path,
				      &fs->config.new_files, &options, &frame);

	if (err)
		return err;
	node = fs_bucket_node_new(fs->bucket, FS_BUCKET_FRAME, path);
	err = node ? b2f_file_open(fs->runtime, frame, &node->open.data)
		   : -ENOMEM;
	if (err) {
		b2f_frame_close(frame);
		fs_bucket_node_free(node);
		return err;
	}
	node->stamp = b2f_frame_stamp_get(frame);
	node->sparse = true;
	node->writing.is_new = true;
	*out = node;
	return 0;
}

/* Shows @node as @name in @dir; takes @node over. */
static int publish(struct fs *fs, const struct fs_object *dir, const char *name,
		   const char *stored, struct fs_object *node)
{
	struct fs_bucket *r = fs->bucket;
	struct fs_object *there = fs_bucket_node_publish(r, node);
	/* Another thread made the name first. */
	int err = there == node ? 0 : -EEXIST;

	if (!err)
		err = fs_bucket_overlay_note(r, dir->path, name, stored, true,
					     FS_BUCKET_PINNED);
	if (err)
		fs_node_put(&there->head, 1);
	return err;
}

/*
 * Chooses the stored name of a sparse frame, or a directory (@is_dir), to be
 * shown as @name in @dir.  Returns as fs_bucket_make_file().
 */
static int make_name(struct fs *fs, struct fs_object *dir, const char *name,
		     bool is_dir, char out[FS_NAME_SIZE])
{
	struct fs_bucket_names *names = NULL;
	int err = check_name(dir, name);

	if (!err)
		err = fs_bucket_listing_get(fs->bucket, dir, &names);
	if (!err && !is_dir)
		err = choose_stored(fs, dir, names, name, out);
	/* A directory of that name would be taken for a frame. */
	else if (!err && fs_suffix_stem(name, out))
		err = -EPERM;
	else if (!err)
		err = check_free(fs, dir, names, name);
	if (!err && is_dir)
		snprintf(out, FS_NAME_SIZE, "%s", name);
	fs_bucket_names_put(names);
	return err;
}

int fs_bucket_make_file(struct fs *fs, struct fs_object *dir, const char *name,
			struct fs_object **out)
{
	B2F_OWN char *path = NULL;
	char stored[FS_NAME_SIZE];
	int err = make_name(fs, dir, name, false, stored);

	if (!err) {
		path = fs_bucket_node_join(dir->path, stored);
		err = path ? new_frame(fs, path, out) : -ENOMEM;
	}
	if (!err)
		err = publish(fs, dir, name, stored, *out);
	if (err == -EEXIST)
		fs_bucket_listing_forget(fs->bucket, dir);
	return err;
}

/* The name of the empty object that keeps the directory @path; malloc'ed. */
static char *marker_of(const char *path)
{
	return b2f_io_text("%s/", path);
}

static int put_marker(struct fs *fs, const char *path)
{
	B2F_OWN char *marker = marker_of(path);

	return marker ? b2f_remote_put(fs->bucket->place, marker, "", 0, NULL,
				       NULL)
		      : -ENOMEM;
}

int fs_bucket_make_dir(struct fs *fs, struct fs_object *dir, const char *name,
		       struct fs_node **out)
{
	B2F_OWN char *path = NULL;
	char stored[FS_NAME_SIZE];
	int err = make_name(fs, dir, name, true, stored);

	if (!err) {
		path = fs_bucket_node_join(dir->path, stored);
		err = path ? put_marker(fs, path) : -ENOMEM;
	}
	if (err == -EEXIST)
		fs_bucket_listing_forget(fs->bucket, dir);
	if (!err)
		err = fs_bucket_overlay_note(fs->bucket, dir->path, name, name,
					     true, FS_BUCKET_MADE);
	return err ? err : fs_bucket_find(fs, dir, name, out);
}

/* Closes the file of @node unless it has users.  Returns whether it has. */
static bool is_used(struct fs *fs, struct fs_object *node)
{
	struct b2f_file *unused;
	bool is;

	pthread_mutex_lock(&fs->state_lock);
	unused = fs_file_take_unused(fs, &node->open);
	is = node->open.nrefs > 0;
	pthread_mutex_unlock(&fs->state_lock);
	b2f_file_close(unused);
	return is;
}

/* Removes @node on the server, but not the chunks of an open file. */
static int remove_stored(struct fs *fs, struct fs_object *node)
{
	struct b2f_remote *place = fs->bucket->place;
	struct b2f_remote_remains *remains = NULL;
	int err;

	if (!node->sparse)
		return b2f_remote_remove(place, node->path);
	/* Chunks that look like orphans may be of an earlier file. */
	err = b2f_remote_remove_index(place, node->path,
				      !fs_bucket_doomed_hasten(fs, node->path),
				      &remains);
	/* Another client removed it first; or it was never committed. */
	if (err)
		return err == -ENOENT ? 0 : err;
	/* From now on who opens it asks the server, which has no index. */
	if (is_used(fs, node))
		fs_bucket_doomed_add(fs, remains, node, 0);
	else
		b2f_remote_remains_free(remains);
	return 0;
}

/* Notes that @dir has lost the name @name.  Returns 0 or -ENOMEM. */
static int note_gone(struct fs *fs, const struct fs_object *dir,
		     const char *name)
{
	fs_bucket_overlay_pin(fs->bucket, dir->path);
	return fs_bucket_overlay_note(fs->bucket, dir->path, name, "", false,
				      FS_BUCKET_REMOVED);
}

/* Has the file of @node stay what it is, if it is open. */
static void stay(struct fs *fs, struct fs_object *node)
{
	B2F_HOLD(&fs->state_lock);

	if (node->open.data)
		b2f_file_stay(node->open.data);
}

/* Has it follow its path again, if this mount writes to it. */
static void follow(struct fs *fs, struct fs_object *node)
{
	struct b2f_file *file =
		node->writing.is_listed ? fs_file_share(fs, &node->open) : NULL;

	if (!file)
		return;
	(void)!b2f_file_allow_write(file, &fs->config.write);
	fs_file_close(fs, &node->open);
}

/*
 * Call these around the removal of @node, or its replacement.  Another frame
 * may have its path after that, which its open file must not go on with.
 */
static void begin_removal(struct fs *fs, struct fs_object *node)
{
	fs_file_hold(fs, &node->open);
	stay(fs, node);
}

static void end_removal(struct fs *fs, struct fs_object *node, bool gone)
{
	if (!gone)
		follow(fs, node);
	fs_file_release(fs, &node->open, gone);
	/* A writer may have come in between. */
	if (gone)
		stay(fs, node);
}

static int remove_file(struct fs *fs, struct fs_object *node)
{
	int err;

	begin_removal(fs, node);
	err = remove_stored(fs, node);
	end_removal(fs, node, !err);
	return err;
}

static int check_empty(struct fs *fs, struct fs_object *dir)
{
	struct fs_bucket_names *names = NULL;
	int err;

	fs_bucket_listing_forget(fs->bucket, dir);
	err = fs_bucket_listing_names(fs, dir, false, &names);
	if (!err && names->n)
		err = -ENOTEMPTY;
	fs_bucket_names_put(names);
	return err;
}

static int remove_dir(struct fs *fs, struct fs_object *dir)
{
	B2F_OWN char *marker = NULL;
	int err = check_empty(fs, dir);

	if (err)
		return err;
	marker = marker_of(dir->path);
	return marker ? b2f_remote_remove(fs->bucket->place, marker) : -ENOMEM;
}

/* May @found be removed as a directory, or as a file? */
static int check_kind(struct fs_node *found, bool is_dir)
{
	const struct fs_object *node = fs_object_of(found);

	if (is_dir && node->pack)
		return -EROFS;
	if (!is_dir && found->is_view)
		return -EPERM;
	if (is_dir != (node->kind == FS_BUCKET_DIR))
		return is_dir ? -ENOTDIR : -EISDIR;
	return 0;
}

int fs_bucket_remove(fuse_req_t req, struct fs_node *parent, const char *name,
		     bool is_dir)
{
	struct fs_object *dir = fs_object_of(parent), *node;
	struct fs *fs = fs_of(req);
	struct fs_node *found;
	int err = !is_dir && fs_bucket_listing_is_fixed(dir)
			  ? -EPERM
			  : fs_bucket_find(fs, dir, name, &found);

	if (err)
		return err;
	node = fs_object_of(found);
	err = check_kind(found, is_dir);
	if (!err)
		err = is_dir ? remove_dir(fs, node) : remove_file(fs, node);
	if (!err) {
		fs_bucket_node_retire(fs->bucket, node);
		err = note_gone(fs, dir, name);
	}
	fs_node_put(found, 1);
	return err;
}

/* Forgets the new file @name in @dir, which is not stored. */
static void forget(struct fs *fs, struct fs_object *dir, const char *name,
		   struct fs_object *made)
{
	begin_removal(fs, made);
	end_removal(fs, made, true);
	fs_bucket_node_retire(fs->bucket, made);
	/* Without memory the name is tried until the next listing. */
	(void)!note_gone(fs, dir, name);
	fs_bucket_listing_forget(fs->bucket, dir);
}

void fs_bucket_unmake(fuse_req_t req, struct fs_node *dir, const char *name,
		      struct fs_object *made)
{
	if (made->writing.is_new || made->writing.refused)
		forget(fs_of(req), fs_object_of(dir), name, made);
	else
		(void)!fs_bucket_remove(req, dir, name, false);
	fs_node_put(&made->head, 1);
}

/* How often to take in commits of other clients that come in between. */
#define TRIES 5

/* A name in a directory. */
struct where {
	struct fs_object *dir;
	const char *name;
};

/* A rename of a file. */
struct renaming {
	struct fs *fs;
	struct where from;
	struct where to;
	/* The node, and the node that it replaces, or NULL. */
	struct fs_object *node;
	struct fs_object *target;
	bool keeps_target;
	/* The stored name: the last part of @path. */
	char stored[FS_NAME_SIZE];
	char *path;
	struct b2f_remote_renamed done;
};

static bool is_sparse(const struct fs_object *node)
{
	return node->kind == FS_BUCKET_FRAME && node->sparse &&
	       !node->unreadable;
}

static int find_source(struct renaming *m)
{
	struct fs_node *found;
	int err;

	if (fs_bucket_listing_is_fixed(m->from.dir))
		return -EPERM;
	err = fs_bucket_find(m->fs, m->from.dir, m->from.name, &found);
	if (err)
		return err;
	m->node = fs_object_of(found);
	return found->is_view ? -EPERM : 0;
}

/* May @m->node replace @m->target, or its view? */
static int check_target(const struct renaming *m, bool is_view)
{
	bool is_dir = m->node->kind == FS_BUCKET_DIR;

	if (m->keeps_target)
		return -EEXIST;
	if (is_view)
		return -EPERM;
	if (is_dir != (m->target->kind == FS_BUCKET_DIR))
		return is_dir ? -ENOTDIR : -EISDIR;
	return is_sparse(m->target) ? 0 : -EXDEV;
}

/* Finds the node at the new name, and the stored name of the frame there. */
static int find_target(struct renaming *m)
{
	const struct where *to = &m->to;
	struct fs_node *found;
	int err = fs_bucket_find(m->fs, to->dir, to->name, &found);

	if (fs_bucket_listing_is_fixed(to->dir)) {
		if (!err)
			fs_node_put(found, 1);
		return -EPERM;
	}
	if (err == -ENOENT)
		return is_sparse(m->node) ? make_name(m->fs, to->dir, to->name,
						      false, m->stored)
					  : -EXDEV;
	if (err)
		return err;
	m->target = fs_object_of(found);
	snprintf(m->stored, sizeof(m->stored), "%s", basename(m->target->path));
	return check_target(m, found->is_view);
}

static bool is_target_used(void *arg)
{
	const struct renaming *m = arg;

	return m->target && is_used(m->fs, m->target);
}

/* Renames the stored frame, and opens it at its new path. */
static int rename_stored(void *arg, struct b2f_frame *frame,
			 struct b2f_frame **out)
{
	struct renaming *m = arg;
	const struct b2f_frame_options options = {
		.log = &m->fs->bucket->messages,
		.reserve = b2f_runtime_reserve(m->fs->runtime),
	};
	struct b2f_remote *place = m->fs->bucket->place;
	const struct b2f_replace replace = {is_target_used, m};
	struct b2f_frame_stamp stamp;
	int err = b2f_remote_rename_frame(place, frame, m->path,
					  m->keeps_target ? NULL : &replace,
					  &m->done);

	if (!err)
		err = b2f_remote_open_frame(place, m->path, &options, out);
	if (err)
		return err;
	stamp = b2f_frame_stamp_get(*out);
	if (b2f_frame_stamp_equal(&stamp, &m->done.now))
		return 0;
	/* Another client has already replaced it. */
	b2f_frame_close(*out);
	return -ESTALE;
}

/* Takes in commits of other clients, if this mount writes to the file. */
static bool take_foreign(struct renaming *m)
{
	/* A node that is only read stays one version. */
	if (m->node->writing.is_listed)
		return fs_bucket_writer_refresh(m->fs, m->node);
	m->node->checked_ms = 0;
	return false;
}

static int move_file(struct renaming *m, struct b2f_file *file)
{
	int err = -ESTALE;

	for (int i = 0; i < TRIES; i++) {
		err = fs_bucket_writer_commit(m->fs, m->node);
		if (err)
			break;
		err = b2f_file_move(file, rename_stored, m);
		if (err != -ESTALE || m->done.is_there || !take_foreign(m))
			break;
	}
	return err;
}

/* Retires @m->target, because its name leads to another node now. */
static void end_target(struct renaming *m)
{
	struct fs_bucket *r = m->fs->bucket;

	fs_bucket_doomed_add(m->fs, m->done.replaced, m->target,
			     b2f_remote_keep_s(r->place));
	m->done.replaced = NULL;
	if (m->target)
		fs_bucket_node_retire(r, m->target);
}

/* Ends the old name of the file, which this thread has open. */
static void end_source(struct renaming *m, struct b2f_file *file, bool moved)
{
	struct fs_bucket *r = m->fs->bucket;
	struct b2f_file_now now;

	(void)fs_bucket_doomed_hasten(m->fs, m->node->path);
	b2f_file_now_get(file, &now);
	if (!moved || fs_bucket_node_move(r, m->node, m->path, &now.stamp))
		fs_bucket_node_retire(r, m->node);
	if (moved)
		b2f_remote_remains_free(m->done.from);
	else
		/*
		 * Keep it until the last close; writers get the error at their
		 * commit.
		 */
		fs_bucket_doomed_add(m->fs, m->done.from, m->node, 0);
}

/* Notes the new names, and whether the old one @has_gone. */
static int note_names(struct renaming *m, bool has_gone)
{
	struct fs_bucket *r = m->fs->bucket;
	int err = fs_bucket_overlay_note(r, m->to.dir->path, m->to.name,
					 m->stored, true, FS_BUCKET_MADE);

	if (!err && has_gone)
		err = note_gone(m->fs, m->from.dir, m->from.name);
	return err;
}

/* Notes the new state, also if @err is set. */
static int end_move(struct renaming *m, struct b2f_file *file, int err)
{
	bool has_gone = m->done.from != NULL;
	int noted;

	if (!m->done.is_there) {
		if (m->target && err == B2F_EINDOUBT)
			m->target->checked_ms = 0;
		return err;
	}
	end_target(m);
	if (has_gone)
		end_source(m, file, !err);
	noted = note_names(m, has_gone);
	return has_gone ? noted : err;
}

static int move(struct renaming *m)
{
	struct b2f_file *file = NULL;
	int err = fs_bucket_node_open(m->fs, m->node, &file);

	if (err)
		return err;
	if (m->target)
		begin_removal(m->fs, m->target);
	err = move_file(m, file);
	if (m->target)
		end_removal(m->fs, m->target, m->done.is_there);
	err = end_move(m, file, err);
	fs_file_close(m->fs, &m->node->open);
	return err;
}

static int find_both(struct renaming *m)
{
	int err = find_source(m);

	if (!err)
		err = find_target(m);
	if (err || m->target == m->node)
		return err;
	if (!is_sparse(m->node))
		return -EXDEV;
	m->path = fs_bucket_node_join(m->to.dir->path, m->stored);
	return m->path ? 0 : -ENOMEM;
}

int fs_bucket_rename(fuse_req_t req, struct fs_node *dir, const char *name,
		     struct fs_node *new_dir, const char *new_name,
		     unsigned int flags)
{
	struct renaming m = {.fs = fs_of(req),
			     .from = {fs_object_of(dir), name},
			     .to = {fs_object_of(new_dir), new_name},
			     .keeps_target = flags & RENAME_NOREPLACE};
	int err = flags & ~RENAME_NOREPLACE ? -EINVAL : find_both(&m);

	if (!err && m.target != m.node)
		err = move(&m);
	free(m.path);
	if (m.target)
		fs_node_put(&m.target->head, 1);
	if (m.node)
		fs_node_put(&m.node->head, 1);
	return err;
}
