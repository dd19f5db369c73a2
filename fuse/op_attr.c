/* SPDX-License-Identifier: BSD-3-Clause */
/* op_attr.c - attributes of nodes, and of the filesystem */
#include <errno.h>
#include <limits.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "getattr.h"
#include "ops.h"
#include "reply.h"

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
