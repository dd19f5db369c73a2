/* SPDX-License-Identifier: BSD-3-Clause */
/* lookup.c - from a folder and a name to a node */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "getattr.h"
#include "links.h"
#include "lookup.h"
#include "view.h"

/* The only name in the folder around a single frame. */
static int find_single(struct fs *fs, int dirfd, const char *name,
		       struct fs_found *out)
{
	struct fs_found found;
	int err;

	if (strcmp(name, fs->source.shown) != 0)
		return -ENOENT;
	err = fs_probe_open(fs->tree, dirfd, fs->source.name, &found.probe);
	if (err)
		return err;
	snprintf(found.name, sizeof(found.name), "%s", fs->source.name);
	*out = found;
	return 0;
}

int fs_lookup_find(struct fs *fs, struct fs_node *parent, int dirfd,
		   const char *name, struct fs_found *out)
{
	int err = -ENOENT;

	if (parent->kind == FS_KIND_SINGLE)
		err = find_single(fs, dirfd, name, out);
	else if (!fs_deleted_is_hidden(name))
		err = fs_resolve_find(fs->tree, dirfd, name, out);
	if (!err)
		err = fs_links_look(fs, dirfd, out);
	return err == -ENOENT && strlen(name) > FS_NAMES_MAX ? -ENAMETOOLONG
							     : err;
}

/* Has what is not open changed, so that the kernel needs a new inode? */
static bool must_renew(struct fs *fs, struct fs_node *node,
		       const struct fs_probe *probe)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(
		node->kind == FS_KIND_FRAME ? &probe->index : &probe->st);
	struct fs_state *state = &node->state;
	bool renew = false;

	if (!fs->options.writeback_cache ||
	    (node->kind != FS_KIND_FRAME && !S_ISREG(probe->st.st_mode)))
		return false;
	pthread_mutex_lock(&fs->state_lock);
	if (state->nhandles == 0 && !state->frame)
		renew = fs_seen_must_renew(&state->seen, &stamp);
	pthread_mutex_unlock(&fs->state_lock);
	return renew;
}

static int get_node(struct fs *fs, struct fs_node *parent,
		    const struct fs_found *found, struct fs_node **out)
{
	const struct fs_node like = {
		.kind = found->probe.kind,
		.sparse = found->probe.kind == FS_KIND_FRAME &&
			  found->probe.sparse,
		.dev = found->probe.st.st_dev,
		.ino = found->probe.st.st_ino,
	};
	struct fs_node *node;
	int err;

	err = fs_tree_get(fs->tree, parent, fs_found_entry(found), &like,
			  &node);
	if (err)
		return err;
	if (must_renew(fs, node, &found->probe)) {
		fs_tree_retire(fs->tree, node);
		fs_tree_forget(fs->tree, node, 1);
		err = fs_tree_get(fs->tree, parent, fs_found_entry(found),
				  &like, &node);
		if (err)
			return err;
	}
	*out = node;
	return 0;
}

int fs_lookup_node(struct fs *fs, struct fs_node *parent,
		   const struct fs_found *found,
		   struct fuse_entry_param *answer, struct fs_node **out)
{
	struct fuse_entry_param e = {0};
	struct fs_node *node;
	int err = get_node(fs, parent, found, &node);

	if (err)
		return err;
	fs_getattr_of_found(fs, node, &found->probe, &e.attr);
	e.ino = fs_ino_of(node);
	e.generation = node->generation;
	e.attr_timeout = fs->options.attr_timeout_s;
	e.entry_timeout = fs->options.entry_timeout_s;
	*answer = e;
	*out = node;
	return 0;
}

int fs_lookup_entry(struct fs *fs, struct fs_node *parent, int dirfd,
		    const char *name, struct fuse_entry_param *answer,
		    struct fs_node **out)
{
	struct fs_found found;
	int err = fs_lookup_find(fs, parent, dirfd, name, &found);

	if (err == -ENOENT)
		return fs_view_lookup(fs, parent, dirfd, name, answer, out);
	if (err)
		return err;
	err = fs_lookup_node(fs, parent, &found, answer, out);
	fs_probe_close(&found.probe);
	return err;
}
