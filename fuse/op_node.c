/* SPDX-License-Identifier: BSD-3-Clause */
/* op_node.c - nodes: found, forgotten, and looked at */
#include <errno.h>
#include <limits.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "getattr.h"
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

void fs_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct stat st;
	int err;

	(void)fi;
	err = fs_getattr(fs, fs_node_of(fs, ino), &st);
	if (err)
		fs_reply_error(req, err);
	else
		fuse_reply_attr(req, &st, fs->options.attr_timeout_s);
}

void fs_op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	struct fs_pin pin = {0};
	char target[PATH_MAX + 1];
	ssize_t n;
	int err;

	err = fs_tree_pin(fs->tree, fs_node_of(fs, ino), &pin);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	n = readlinkat(pin.fd, "", target, PATH_MAX);
	err = n < 0 ? -errno : 0;
	fs_tree_unpin(fs->tree, &pin);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	target[n] = '\0';
	fuse_reply_readlink(req, target);
}

void fs_op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	struct fs_pin pin = {0};
	struct statvfs st;
	int err;

	err = fs_tree_pin(fs->tree, fs_node_of(fs, ino), &pin);
	if (!err && fstatvfs(pin.fd, &st))
		err = -errno;
	fs_tree_unpin(fs->tree, &pin);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	/* A new file becomes a frame with a suffix. */
	if (st.f_namemax > FS_SUFFIX_RESERVED)
		st.f_namemax -= FS_SUFFIX_RESERVED;
	fuse_reply_statfs(req, &st);
}
