/* SPDX-License-Identifier: BSD-3-Clause */
/* view.c - NAME.npy beside an array NAME: the same bytes behind a header */
#include <stdio.h>
#include <string.h>

#include "view.h"

#define SUFFIX ".npy"

uint64_t fs_view_ino(uint64_t ino)
{
	return ino ^ UINT64_C(1) << 62;
}

/* The key of the node that shows the file of @node as @kind. */
static struct fs_backed key_of(const struct fs_backed *node, enum fs_kind kind)
{
	return (struct fs_backed){
		.kind = kind,
		.sparse = node->sparse,
		.dev = node->dev,
		.ino = node->ino,
	};
}

int fs_view_enter(struct fs *fs, struct fs_backed *node, struct fs_backed **out)
{
	const struct fs_backed key = key_of(node, FS_KIND_FRAME);
	char name[FS_NAME_SIZE];
	struct fs_pin parent = {0};
	int err;

	if (node->kind != FS_KIND_VIEW) {
		fs_node_ref(&node->head);
		*out = node;
		return 0;
	}
	/*
	 * A node that the kernel knows is where it is now; otherwise take the
	 * place where the view was seen.
	 */
	*out = fs_tree_find(fs->tree, &key, false);
	/* It was deleted, but is open. */
	if (!*out)
		*out = fs_tree_find(fs->tree, &key, true);
	if (*out)
		return 0;
	err = fs_tree_pin_parent(fs->tree, node, &parent, name);
	if (!err)
		err = fs_tree_get(fs->tree, parent.node, name, &key, out);
	fs_tree_unpin(fs->tree, &parent);
	return err;
}

struct fs_backed *fs_view_find(struct fs *fs, const struct fs_backed *frame)
{
	const struct fs_backed key = key_of(frame, FS_KIND_VIEW);

	return fs_tree_find(fs->tree, &key, false);
}

void fs_view_retire(struct fs *fs, const struct fs_found *found)
{
	const struct fs_backed key = fs_found_key(found);
	struct fs_backed *view;

	if (key.kind != FS_KIND_FRAME)
		return;
	view = fs_view_find(fs, &key);
	if (!view)
		return;
	fs_tree_retire(fs->tree, view);
	fs_tree_forget(fs->tree, view, 1);
}

int fs_view_get(struct fs *fs, struct fs_backed *parent, const char *name,
		const struct fs_backed *frame, struct fs_backed **out)
{
	const struct fs_backed key = key_of(frame, FS_KIND_VIEW);

	return fs_tree_get(fs->tree, parent, name, &key, out);
}

bool fs_view_stem(const char *name, char stem[FS_NAME_SIZE])
{
	size_t n = strlen(name), suffix = sizeof(SUFFIX) - 1;

	if (n <= suffix || n >= FS_NAME_SIZE + suffix ||
	    strcmp(name + n - suffix, SUFFIX) != 0)
		return false;
	memcpy(stem, name, n - suffix);
	stem[n - suffix] = '\0';
	return true;
}

bool fs_view_is_possible(const struct fs *fs, const struct fs_probe *probe)
{
	return fs->options.view.npy != FS_VIEW_OFF &&
	       probe->kind == FS_KIND_FRAME &&
	       probe->has_npy_header && !probe->is_npy;
}

bool fs_view_name(const char *name, char out[FS_NAME_SIZE])
{
	if (strlen(name) + sizeof(SUFFIX) > FS_NAME_SIZE)
		return false;
	snprintf(out, FS_NAME_SIZE, "%.*s" SUFFIX,
		 (int)(FS_NAME_SIZE - sizeof(SUFFIX)), name);
	return true;
}
