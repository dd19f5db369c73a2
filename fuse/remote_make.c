/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_make.c - names in an object store that come and go */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/create.h"
#include "remote_changes.h"
#include "remote_find.h"
#include "remote_listing.h"
#include "remote_make.h"
#include "remote_writer.h"

/* May @name be that of something new in @dir? */
static int check_name(const struct fs_remote_node *dir, const char *name)
{
	if (dir->kind != FS_REMOTE_DIR)
		return -ENOTDIR;
	if (strlen(name) > FS_NAME_MAX)
		return -ENAMETOOLONG;
	if (fs_remote_listing_is_fixed(dir) ||
	    strcmp(name, B2F_INDEX_NAME) == 0)
		return -EPERM;
	return 0;
}

/* Was what is stored as @stored, or shown as that, made here? */
static bool is_made(struct fs_remote *r, const char *dir, const char *stored)
{
	struct fs_remote_made made;
	char stem[FS_NAME_SIZE];
	enum fs_remote_change what;

	what = fs_remote_changes_find(r, dir, stored, &made);
	if (what == FS_REMOTE_MADE || what == FS_REMOTE_PINNED)
		return true;
	if (!fs_suffix_stem(stored, stem))
		return false;
	what = fs_remote_changes_find(r, dir, stem, &made);
	return (what == FS_REMOTE_MADE || what == FS_REMOTE_PINNED) &&
	       strcmp(made.stored, stored) == 0;
}

/* Can @key be stored, or be shown, without a change of how others are? */
static bool is_free(struct fs_remote *r, const struct fs_remote_node *dir,
		    const struct fs_remote_names *names, const char *key)
{
	struct fs_remote_made made;

	if (is_made(r, dir->path, key))
		return false;
	/* What was removed is listed still. */
	return !fs_remote_names_has_key(names, key) ||
	       fs_remote_changes_find(r, dir->path, key, &made) ==
		       FS_REMOTE_REMOVED;
}

/* Was the frame that was stored as @stored removed by us? */
static bool was_removed(struct fs_remote *r, const struct fs_remote_node *dir,
			const char *shown)
{
	struct fs_remote_made made;

	return fs_remote_changes_find(r, dir->path, shown, &made) ==
	       FS_REMOTE_REMOVED;
}

/* Finds what a frame that is shown as @name can be stored as. */
static int choose_stored(struct fs_remote *r, const struct fs_remote_node *dir,
			 const struct fs_remote_names *names, const char *name,
			 char out[FS_NAME_SIZE])
{
	enum b2f_suffix first = fs_suffix_for(name, B2F_SUFFIX_SPARSE);

	if (!is_free(r, dir, names, name))
		return -EEXIST;
	for (enum b2f_suffix i = 0; i < B2F_SUFFIXES; i++) {
		if (!fs_suffix_join(name, (first + i) % B2F_SUFFIXES, out))
			continue;
		/* The name was free, so what is listed there has gone. */
		if (is_free(r, dir, names, out) ||
		    (was_removed(r, dir, name) && !is_made(r, dir->path, out)))
			return 0;
	}
	return -EEXIST;
}

/* Makes the node of the frame @path, of which nothing is there yet. */
static int new_frame(struct fs *fs, const char *path,
		     struct fs_remote_node **out)
{
	const struct b2f_frame_options options = {.log = &fs->remote->log};
	struct fs_remote_node *node = NULL;
	struct b2f_frame *frame = NULL;
	int err = b2f_remote_make_frame(fs->remote->place, path,
					&fs->config.new_files, &options,
					&frame);

	if (err)
		return err;
	node = fs_remote_node_new(FS_REMOTE_FRAME, path);
	err = node ? b2f_file_open(fs->runtime, frame, &node->file) : -ENOMEM;
	if (err) {
		b2f_frame_close(frame);
		fs_remote_node_free(node);
		return err;
	}
	node->stamp = b2f_frame_stamp_get(frame);
	node->sparse = true;
	node->writing.is_new = true;
	*out = node;
	return 0;
}

/* Shows @node, which it takes over, as @name in @dir. */
static int publish(struct fs *fs, const struct fs_remote_node *dir,
		   const char *name, const char *stored,
		   struct fs_remote_node *node, struct fs_remote_entry *out)
{
	struct fs_remote *r = fs->remote;
	struct fs_remote_node *there = fs_remote_node_publish(r, node);
	/* Another thread was faster. */
	int err = there == node ? 0 : -EEXIST;

	if (!err)
		err = fs_remote_changes_note(r, dir->path, name, stored, true,
					     FS_REMOTE_PINNED);
	if (err) {
		fs_remote_node_put(r, there, 1);
		return err;
	}
	*out = (struct fs_remote_entry){.node = node};
	return 0;
}

int fs_remote_make_name(struct fs *fs, struct fs_remote_node *dir,
			const char *name, char out[FS_NAME_SIZE])
{
	struct fs_remote_names *names = NULL;
	int err = check_name(dir, name);

	if (!err)
		err = fs_remote_listing_get(fs->remote, dir, &names);
	if (!err)
		err = choose_stored(fs->remote, dir, names, name, out);
	fs_remote_names_put(names);
	return err;
}

int fs_remote_make_file(struct fs *fs, struct fs_remote_node *dir,
			const char *name, struct fs_remote_entry *out)
{
	struct fs_remote_node *node = NULL;
	char stored[FS_NAME_SIZE], *path = NULL;
	int err = fs_remote_make_name(fs, dir, name, stored);

	if (!err) {
		path = fs_remote_node_join(dir->path, stored);
		err = path ? new_frame(fs, path, &node) : -ENOMEM;
	}
	if (!err)
		err = publish(fs, dir, name, stored, node, out);
	if (err == -EEXIST)
		fs_remote_listing_forget(fs->remote, dir);
	free(path);
	return err;
}

/* The object that keeps the directory @path; malloc'ed. */
static char *marker_of(const char *path)
{
	char *marker = NULL;

	return asprintf(&marker, "%s/", path) < 0 ? NULL : marker;
}

static int put_marker(struct fs *fs, const char *path)
{
	char *marker = marker_of(path);
	int err = marker ? b2f_remote_put(fs->remote->place, marker, "", 0,
					  NULL, NULL)
			 : -ENOMEM;

	free(marker);
	return err;
}

static int make_dir(struct fs *fs, struct fs_remote_node *dir, const char *name)
{
	struct fs_remote *r = fs->remote;
	struct fs_remote_names *names = NULL;
	char stem[FS_NAME_SIZE], *path;
	int err = fs_remote_listing_get(r, dir, &names);

	if (err)
		return err;
	/* It would be taken for a frame. */
	if (fs_suffix_stem(name, stem))
		err = -EPERM;
	else if (!is_free(r, dir, names, name))
		err = -EEXIST;
	fs_remote_names_put(names);
	if (err)
		return err;
	path = fs_remote_node_join(dir->path, name);
	err = path ? put_marker(fs, path) : -ENOMEM;
	free(path);
	return err;
}

int fs_remote_make_dir(struct fs *fs, struct fs_remote_node *dir,
		       const char *name, struct fs_remote_entry *out)
{
	int err = check_name(dir, name);

	if (!err)
		err = make_dir(fs, dir, name);
	if (err == -EEXIST)
		fs_remote_listing_forget(fs->remote, dir);
	if (!err)
		err = fs_remote_changes_note(fs->remote, dir->path, name, name,
					     true, FS_REMOTE_MADE);
	return err ? err : fs_remote_find(fs, dir, name, out);
}

/* Removes what @node is on the server; the chunks of one that is open stay. */
static int remove_stored(struct fs *fs, struct fs_remote_node *node)
{
	struct b2f_remote *place = fs->remote->place;
	bool is_open;
	int err;

	if (!node->sparse)
		return b2f_remote_remove(place, node->path);
	err = b2f_remote_remove_index(place, node->path,
				      &node->writing.remains);
	/* Another client was faster; or it was never committed. */
	if (err)
		return err == -ENOENT ? 0 : err;
	pthread_mutex_lock(&fs->remote->lock);
	is_open = node->nopens > 0;
	pthread_mutex_unlock(&fs->remote->lock);
	if (!is_open) {
		b2f_remote_remains_free(node->writing.remains);
		node->writing.remains = NULL;
	}
	return 0;
}

int fs_remote_make_gone(struct fs *fs, const struct fs_remote_node *dir,
			const char *name)
{
	fs_remote_changes_pin(fs->remote, dir->path);
	return fs_remote_changes_note(fs->remote, dir->path, name, "", false,
				      FS_REMOTE_REMOVED);
}

int fs_remote_unlink(struct fs *fs, struct fs_remote_node *dir,
		     const char *name)
{
	struct fs_remote_entry entry;
	int err = fs_remote_listing_is_fixed(dir)
			  ? -EPERM
			  : fs_remote_find(fs, dir, name, &entry);

	if (err)
		return err;
	if (entry.is_view)
		err = -EPERM;
	else if (entry.node->kind == FS_REMOTE_DIR)
		err = -EISDIR;
	if (err)
		goto out;
	fs_remote_writer_hold(fs, entry.node);
	err = remove_stored(fs, entry.node);
	fs_remote_writer_release(fs, entry.node, !err);
	if (err)
		goto out;
	fs_remote_node_retire(fs->remote, entry.node);
	err = fs_remote_make_gone(fs, dir, name);
out:
	fs_remote_node_put(fs->remote, entry.node, 1);
	return err;
}

/* Is nothing in @dir, as it is now? */
static int check_empty(struct fs *fs, struct fs_remote_node *dir)
{
	struct fs_remote_names *listed = NULL, *names = NULL;
	int err;

	fs_remote_listing_forget(fs->remote, dir);
	err = fs_remote_listing_get(fs->remote, dir, &listed);
	if (!err)
		err = fs_remote_changes_apply(fs->remote, dir->path, listed,
					      &names);
	if (!err && names->n)
		err = -ENOTEMPTY;
	fs_remote_names_put(listed);
	fs_remote_names_put(names);
	return err;
}

static int remove_dir(struct fs *fs, struct fs_remote_node *dir)
{
	char *marker;
	int err = check_empty(fs, dir);

	if (err)
		return err;
	marker = marker_of(dir->path);
	err = marker ? b2f_remote_remove(fs->remote->place, marker) : -ENOMEM;
	free(marker);
	return err;
}

int fs_remote_rmdir(struct fs *fs, struct fs_remote_node *dir, const char *name)
{
	struct fs_remote_entry entry;
	int err = fs_remote_find(fs, dir, name, &entry);

	if (err)
		return err;
	if (entry.node->pack)
		err = -EROFS;
	else
		err = entry.node->kind == FS_REMOTE_DIR
			      ? remove_dir(fs, entry.node)
			      : -ENOTDIR;
	if (!err) {
		fs_remote_node_retire(fs->remote, entry.node);
		err = fs_remote_make_gone(fs, dir, name);
	}
	fs_remote_node_put(fs->remote, entry.node, 1);
	return err;
}
