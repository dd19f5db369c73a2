/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * route.c - is a request about a node of the tree, or of a pack?
 *
 * Packs (packs.h) are only read: every change there is EROFS.  All functions
 * are those of ops.h, with that question before them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "op_pack.h"
#include "ops.h"
#include "reply.h"
#include "route.h"

/* Is @ino a node of a pack? */
static bool is_packed(fuse_req_t req, fuse_ino_t ino)
{
	return fs_packs_has(fs_of(req), ino);
}

static struct fs_pack_node *node_of(fuse_req_t req, fuse_ino_t ino)
{
	return fs_packs_node(fs_of(req), ino);
}

/* Refuses a change if @ino is in a pack; false: it is not. */
static bool refuse(fuse_req_t req, fuse_ino_t ino)
{
	if (!is_packed(req, ino))
		return false;
	fs_reply_error(req, -EROFS);
	return true;
}

/* Has nothing to do if @ino is in a pack; false: it is not. */
static bool skip(fuse_req_t req, fuse_ino_t ino)
{
	if (!is_packed(req, ino))
		return false;
	fs_reply_error(req, 0);
	return true;
}

/*
 * May @name in @ino, a directory of the tree, be a pack?  What is beside the
 * frame of a mount with a single one is not mounted.
 */
static bool may_be_pack(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	return b2f_pack_is_name(name) &&
	       fs_node_of(fs_of(req), ino)->kind != FS_KIND_SINGLE;
}

/* A name in a directory of the tree may be a pack, too. */
static void lookup_any(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param answer;
	struct fs_pin pin = {0};
	int is;

	if (is_packed(req, ino)) {
		fs_op_pack_lookup(req, node_of(req, ino), name);
		return;
	}
	if (!may_be_pack(req, ino, name)) {
		fs_op_lookup(req, ino, name);
		return;
	}
	is = fs_tree_pin(fs->tree, fs_node_of(fs, ino), &pin);
	if (!is)
		is = fs_packs_enter(fs, pin.node, pin.fd, name, &answer);
	fs_tree_unpin(fs->tree, &pin);
	if (is < 0)
		fs_reply_error(req, is);
	else if (is)
		fs_op_pack_reply(req, &answer);
	else
		fs_op_lookup(req, ino, name);
}

static void forget_any(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	if (is_packed(req, ino)) {
		fs_packs_forget(fs_of(req), node_of(req, ino), n);
		fuse_reply_none(req);
	} else {
		fs_op_forget(req, ino, n);
	}
}

/* Those of packs first; what is left is the tree's. */
static void forget_multi_any(fuse_req_t req, size_t count,
			     struct fuse_forget_data *forgets)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		if (is_packed(req, forgets[i].ino))
			fs_packs_forget(fs_of(req),
					node_of(req, forgets[i].ino),
					forgets[i].nlookup);
		else
			forgets[left++] = forgets[i];
	}
	fs_op_forget_multi(req, left, forgets);
}

static void opendir_any(fuse_req_t req, fuse_ino_t ino,
			struct fuse_file_info *fi)
{
	if (!is_packed(req, ino)) {
		fs_op_opendir(req, ino, fi);
		return;
	}
	/* What is in a pack never changes. */
	fi->cache_readdir = 1;
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

/* All packs are on the filesystem that is mounted, or on one below. */
static void statfs_any(fuse_req_t req, fuse_ino_t ino)
{
	fs_op_statfs(req, is_packed(req, ino) ? FUSE_ROOT_ID : ino);
}

/* The mount's own attributes are those of its root, whatever that is. */
static void getxattr_any(fuse_req_t req, fuse_ino_t ino, const char *name,
			 size_t size)
{
	bool own = ino == FUSE_ROOT_ID &&
		   strncmp(name, "user.bloscfs.", strlen("user.bloscfs.")) == 0;

	if (is_packed(req, ino) && !own)
		fs_op_pack_getxattr(req, node_of(req, ino), name, size);
	else
		fs_op_getxattr(req, ino, name, size);
}

static void getattr_any(fuse_req_t req, fuse_ino_t ino,
			struct fuse_file_info *fi)
{
	if (is_packed(req, ino))
		fs_op_pack_getattr(req, node_of(req, ino));
	else
		fs_op_getattr(req, ino, fi);
}

static void readdir_any(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			struct fuse_file_info *fi)
{
	if (is_packed(req, ino))
		fs_op_pack_readdir(req, node_of(req, ino), size, off, false);
	else
		fs_op_readdir(req, ino, size, off, fi);
}

static void readdirplus_any(fuse_req_t req, fuse_ino_t ino, size_t size,
			    off_t off, struct fuse_file_info *fi)
{
	if (is_packed(req, ino))
		fs_op_pack_readdir(req, node_of(req, ino), size, off, true);
	else
		fs_op_readdirplus(req, ino, size, off, fi);
}

static void releasedir_any(fuse_req_t req, fuse_ino_t ino,
			   struct fuse_file_info *fi)
{
	if (!skip(req, ino))
		fs_op_releasedir(req, ino, fi);
}

static void listxattr_any(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	if (is_packed(req, ino))
		fs_op_pack_listxattr(req, node_of(req, ino), size);
	else
		fs_op_listxattr(req, ino, size);
}

static void fsyncdir_any(fuse_req_t req, fuse_ino_t ino, int datasync,
			 struct fuse_file_info *fi)
{
	if (!skip(req, ino))
		fs_op_fsyncdir(req, ino, datasync, fi);
}

static void setattr_any(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
			int to_set, struct fuse_file_info *fi)
{
	if (!refuse(req, ino))
		fs_op_setattr(req, ino, attr, to_set, fi);
}

static void mknod_any(fuse_req_t req, fuse_ino_t ino, const char *name,
		      mode_t mode, dev_t rdev)
{
	if (!refuse(req, ino))
		fs_op_mknod(req, ino, name, mode, rdev);
}

static void mkdir_any(fuse_req_t req, fuse_ino_t ino, const char *name,
		      mode_t mode)
{
	if (!refuse(req, ino))
		fs_op_mkdir(req, ino, name, mode);
}

static void unlink_any(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	if (!refuse(req, ino))
		fs_op_unlink(req, ino, name);
}

/*
 * Is @name in the directory @ino a pack?  Returns 1 (an empty one), 0, or an
 * errno; -ENOTEMPTY: one with something in it.
 */
static int look(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fs_pin pin = {0};
	bool empty = false;
	int is;

	if (!may_be_pack(req, ino, name))
		return 0;
	is = fs_tree_pin(fs->tree, fs_node_of(fs, ino), &pin);
	if (!is)
		is = fs_packs_look_inside(fs, pin.node, pin.fd, name, &empty);
	fs_tree_unpin(fs->tree, &pin);
	return is > 0 && !empty ? -ENOTEMPTY : is;
}

/* A pack is a file below.  As a directory it goes only if it is empty. */
static void rmdir_any(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	int is;

	if (refuse(req, ino))
		return;
	is = look(req, ino, name);
	if (is < 0)
		fs_reply_error(req, is);
	else if (is)
		fs_op_unlink(req, ino, name);
	else
		fs_op_rmdir(req, ino, name);
}

static void symlink_any(fuse_req_t req, const char *target, fuse_ino_t ino,
			const char *name)
{
	if (!refuse(req, ino))
		fs_op_symlink(req, target, ino, name);
}

static void link_any(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent,
		     const char *new_name)
{
	if (!refuse(req, ino) && !refuse(req, new_parent))
		fs_op_link(req, ino, new_parent, new_name);
}

static void create_any(fuse_req_t req, fuse_ino_t ino, const char *name,
		       mode_t mode, struct fuse_file_info *fi)
{
	if (!refuse(req, ino))
		fs_op_create(req, ino, name, mode, fi);
}

static void rename_any(fuse_req_t req, fuse_ino_t ino, const char *name,
		       fuse_ino_t new_parent, const char *new_name,
		       unsigned int flags)
{
	int is = 0;

	if (refuse(req, ino) || refuse(req, new_parent))
		return;
	/* What is in a directory is not replaced; two can change places. */
	if (!(flags & RENAME_EXCHANGE))
		is = look(req, new_parent, new_name);
	if (is < 0)
		fs_reply_error(req, is);
	else
		fs_op_rename(req, ino, name, new_parent, new_name, flags);
}

static void setxattr_any(fuse_req_t req, fuse_ino_t ino, const char *name,
			 const char *value, size_t size, int flags)
{
	if (!refuse(req, ino))
		fs_op_setxattr(req, ino, name, value, size, flags);
}

static void removexattr_any(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	if (!refuse(req, ino))
		fs_op_removexattr(req, ino, name);
}

void fs_route_add(struct fuse_lowlevel_ops *ops)
{
	ops->lookup = lookup_any;
	ops->forget = forget_any;
	ops->forget_multi = forget_multi_any;
	ops->opendir = opendir_any;
	ops->statfs = statfs_any;
	ops->getxattr = getxattr_any;
	ops->getattr = getattr_any;
	ops->readdir = readdir_any;
	ops->readdirplus = readdirplus_any;
	ops->releasedir = releasedir_any;
	ops->listxattr = listxattr_any;
	ops->fsyncdir = fsyncdir_any;
	ops->setattr = setattr_any;
	ops->mknod = mknod_any;
	ops->mkdir = mkdir_any;
	ops->unlink = unlink_any;
	ops->rmdir = rmdir_any;
	ops->symlink = symlink_any;
	ops->link = link_any;
	ops->create = create_any;
	ops->rename = rename_any;
	ops->setxattr = setxattr_any;
	ops->removexattr = removexattr_any;
}
