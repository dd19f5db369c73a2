/* SPDX-License-Identifier: BSD-3-Clause */
/* op_lookup.c - from names to nodes, and when the kernel forgets them */
#include <errno.h>
#include <string.h>

#include "attr.h"
#include "ops.h"
#include "reply.h"
#include "resolve.h"

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
	strncpy(found.name, fs->source.name, sizeof(found.name) - 1);
	found.name[sizeof(found.name) - 1] = '\0';
	*out = found;
	return 0;
}

static int find(struct fs *fs, struct fs_node *parent, const char *name,
		struct fs_found *out)
{
	struct fs_pin pin = {0};
	int err;

	err = fs_tree_pin(fs->tree, parent, &pin);
	if (err)
		return err;
	if (parent->kind == FS_KIND_SINGLE)
		err = find_single(fs, pin.fd, name, out);
	else
		err = fs_resolve_find(fs->tree, pin.fd, name, out);
	fs_tree_unpin(fs->tree, &pin);
	return err;
}

/* The node of what was found; a new one, if it is open in an old version. */
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

	err = fs_tree_get(fs->tree, parent, found->name, &like, &node);
	if (err || node->kind != FS_KIND_FRAME ||
	    !fs_openfiles_retire_old(fs, node, &found->probe.index)) {
		if (!err)
			*out = node;
		return err;
	}
	fs_tree_forget(fs->tree, node, 1);
	return fs_tree_get(fs->tree, parent, found->name, &like, out);
}

void fs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fs_node *dir = fs_node_of(fs, parent), *node;
	struct fuse_entry_param e = {0};
	struct fs_found found;
	int err;

	fs_stats_add(&fs->stats.nlookups, 1);
	err = find(fs, dir, name, &found);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fs_attr_of_probe(fs, &found.probe, &e.attr);
	err = get_node(fs, dir, &found, &node);
	fs_probe_close(&found.probe);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	e.ino = fs_ino_of(node);
	e.generation = node->generation;
	e.attr_timeout = fs->options.attr_timeout_s;
	e.entry_timeout = fs->options.entry_timeout_s;
	/* An answer that did not arrive is not counted by the kernel. */
	if (fuse_reply_entry(req, &e) < 0)
		fs_tree_forget(fs->tree, node, 1);
}

static void forget(struct fs *fs, fuse_ino_t ino, uint64_t n)
{
	if (ino != FUSE_ROOT_ID)
		fs_tree_forget(fs->tree, fs_node_of(fs, ino), n);
}

void fs_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	forget(fs_of(req), ino, nlookup);
	fuse_reply_none(req);
}

void fs_op_forget_multi(fuse_req_t req, size_t count,
			struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		forget(fs_of(req), forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}
