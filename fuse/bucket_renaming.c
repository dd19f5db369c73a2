/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_renaming.c - a file in an object store gets another name */
#include "bucket_renaming.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bucket_doomed.h"
#include "bucket_find.h"
#include "bucket_make.h"
#include "bucket_overlay.h"
#include "bucket_writer.h"

/* Commits of other clients that come in between are taken along so often. */
#define TRIES 5

/* A file on its way to another name. */
struct renaming {
	struct fs *fs;
	const struct fs_bucket_where *from;
	const struct fs_bucket_where *to;
	/* The node, and the node that it replaces; or NULL. */
	struct fs_object *node;
	struct fs_object *target;
	bool keeps_target;
	/* The name to store: the last part of @path. */
	char stored[FS_NAME_SIZE];
	char *path;
	struct b2f_remote_renamed done;
};

static bool is_sparse(const struct fs_object *node)
{
	return node->kind == FS_BUCKET_FRAME && node->sparse && !node->unreadable;
}

/* Finds what is to be renamed. */
static int find_source(struct renaming *m)
{
	const struct fs_bucket_where *from = m->from;
	struct fs_bucket_entry entry;
	int err;

	if (fs_bucket_listing_is_fixed(from->dir))
		return -EPERM;
	err = fs_bucket_find(m->fs, from->dir, from->name, &entry);
	if (err)
		return err;
	m->node = entry.node;
	return entry.is_view ? -EPERM : 0;
}

/* May the file that is found be what @m->node replaces? */
static int check_target(const struct renaming *m,
			const struct fs_bucket_entry *found)
{
	bool is_dir = m->node->kind == FS_BUCKET_DIR;

	if (m->keeps_target)
		return -EEXIST;
	if (found->is_view)
		return -EPERM;
	if (is_dir != (found->node->kind == FS_BUCKET_DIR))
		return is_dir ? -ENOTDIR : -EISDIR;
	return is_sparse(found->node) ? 0 : -EXDEV;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Finds what has the new name, and what a frame of that name is stored as. */
static int find_target(struct renaming *m)
{
	const struct fs_bucket_where *to = m->to;
	struct fs_bucket_entry found;
	int err = fs_bucket_find(m->fs, to->dir, to->name, &found);

	if (fs_bucket_listing_is_fixed(to->dir)) {
		if (!err)
			fs_bucket_node_put(found.node);
		return -EPERM;
	}
	if (err == -ENOENT)
		return is_sparse(m->node)
			       ? fs_bucket_make_name(m->fs, to->dir, to->name,
						     m->stored)
			       : -EXDEV;
	if (err)
		return err;
	m->target = found.node;
	snprintf(m->stored, sizeof(m->stored), "%s",
		 last_part(found.node->path));
	return check_target(m, &found);
}

/* The frame is stored elsewhere; opens it there. */
static int rename_stored(void *arg, struct b2f_frame *frame,
			 struct b2f_frame **out)
{
	struct renaming *m = arg;
	const struct b2f_frame_options options = {.log = &m->fs->bucket->messages};
	struct b2f_remote *place = m->fs->bucket->place;
	struct b2f_frame_stamp stamp;
	int err = b2f_remote_rename_frame(place, frame, m->path,
					  !m->keeps_target, &m->done);

	if (!err)
		err = b2f_remote_open_frame(place, m->path, &options, out);
	if (err)
		return err;
	stamp = b2f_frame_stamp_get(*out);
	if (b2f_frame_stamp_equal(&stamp, &m->done.now))
		return 0;
	/* Another client has replaced it already. */
	b2f_frame_close(*out);
	return -ESTALE;
}

/* Takes commits of other clients in, if the file is written to here. */
static bool take_foreign(struct renaming *m)
{
	struct fs_bucket *r = m->fs->bucket;
	bool is_written;

	pthread_mutex_lock(&r->volume.fs->state_lock);
	is_written = m->node->writing.is_listed;
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	/*
	 * The kernel may have bytes of a node that is only read: it is one
	 * version.
	 */
	if (!is_written)
		fs_bucket_node_doubt(r, m->node);
	return is_written && fs_bucket_writer_refresh(m->fs, m->node);
}

static int move_file(struct renaming *m, struct b2f_file *file)
{
	int err = -ESTALE;

	for (int i = 0; i < TRIES; i++) {
		err = fs_bucket_writer_commit(m->fs, m->node);
		if (err)
			break;
		err = b2f_file_move(file, rename_stored, m);
		if (err != -ESTALE || m->done.is_there ||
		    !take_foreign(m))
			break;
	}
	return err;
}

/* @m->target is not what its name leads to any more. */
static void end_target(struct renaming *m)
{
	struct fs_bucket *r = m->fs->bucket;

	fs_bucket_doomed_add(m->fs, m->done.replaced, m->target);
	m->done.replaced = NULL;
	if (m->target)
		fs_bucket_node_retire(r, m->target);
}

/* The file, which this thread has open, has gone from where it was. */
static void end_source(struct renaming *m, struct b2f_file *file, bool moved)
{
	struct fs_bucket *r = m->fs->bucket;
	struct b2f_file_now now;

	b2f_file_now_get(file, &now);
	if (!moved || fs_bucket_node_move(r, m->node, m->path, &now.stamp))
		fs_bucket_node_retire(r, m->node);
	if (moved)
		b2f_remote_remains_free(m->done.from);
	else
		/* Until the last close; writers are told at their commit. */
		m->node->writing.remains = m->done.from;
}

/*
 * Notes what names there are now.  A listing that begins after that has to be without
 * the chunks of a name that @has_gone, as these would make it a directory.
 */
static int note_names(struct renaming *m, bool has_gone)
{
	struct fs_bucket *r = m->fs->bucket;
	int err = fs_bucket_overlay_note(r, m->to->dir->path, m->to->name,
					 m->stored, true, FS_BUCKET_MADE);

	if (!err && has_gone)
		err = fs_bucket_make_gone(m->fs, m->from->dir, m->from->name);
	return err;
}

/* Notes the new state, whatever @err says. */
static int end_move(struct renaming *m, struct b2f_file *file, int err)
{
	bool has_gone = m->done.from != NULL;
	int noted;

	if (!m->done.is_there) {
		if (m->target && err == B2F_EINDOUBT)
			fs_bucket_node_doubt(m->fs->bucket, m->target);
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

	if (err) {
		if (err == -ESTALE)
			fs_bucket_node_doubt(m->fs->bucket, m->node);
		return err;
	}
	if (m->target)
		fs_file_hold(m->fs, &m->target->open);
	err = move_file(m, file);
	if (m->target)
		fs_file_release(m->fs, &m->target->open, m->done.is_there);
	err = end_move(m, file, err);
	fs_bucket_node_close(m->fs, m->node);
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
	m->path = fs_bucket_node_join(m->to->dir->path, m->stored);
	return m->path ? 0 : -ENOMEM;
}

int fs_bucket_rename(struct fs *fs, const struct fs_bucket_where *from,
		     const struct fs_bucket_where *to, unsigned int flags)
{
	struct renaming m = {.fs = fs,
			     .from = from,
			     .to = to,
			     .keeps_target = flags & RENAME_NOREPLACE};
	int err = flags & ~RENAME_NOREPLACE ? -EINVAL : find_both(&m);

	if (!err && m.target != m.node)
		err = move(&m);
	free(m.path);
	if (m.target)
		fs_bucket_node_put(m.target);
	if (m.node)
		fs_bucket_node_put(m.node);
	return err;
}
