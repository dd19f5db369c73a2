/* SPDX-License-Identifier: BSD-3-Clause */
/* op_lookup.c - from names to nodes, and when the kernel forgets them */
#include "lookup.h"
#include "ops.h"
#include "reply.h"

void fs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param answer;
	struct fs_entry entry;
	struct fs_node *node;
	int err;

	fs_stats_add(&fs->stats.nlookups, 1);
	err = fs_entry_enter(fs, parent, name, &entry);
	if (!err)
		err = fs_lookup_answer(&entry, &answer, &node);
	fs_entry_leave(&entry);
	if (err)
		fs_reply_error(req, err);
	else
		fs_reply_entry(req, node, &answer);
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
