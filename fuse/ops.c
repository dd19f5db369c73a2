/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.c - the table of requests, and those about nodes, names and directories
 *
 * op_io.c, op_write.c and op_xattr.c answer the others.
 *
 * Missing on purpose: access (the kernel checks permissions itself), locks (the
 * kernel keeps them itself), and in a read-only mount flush and fsync.  The
 * kernel refuses changes of a read-only mount; but root can remount it as
 * writable, so every request that changes something checks again.
 */
#include <errno.h>

#include "answer.h"
#include "ops.h"
#include "reply.h"
#include "volume.h"
#include "wakeup.h"

static struct fs_node *node_of(fuse_req_t req, fuse_ino_t ino)
{
	return fs_node_of(fs_of(req), ino);
}

/* Returns the changes of @node's volume; NULL: it is only read. */
static const struct fs_change_ops *changes_of(const struct fs_node *node)
{
	return node->volume->fs->read_write ? node->volume->ops->changes : NULL;
}

/* The same for two nodes, which have to be of one volume. */
static const struct fs_change_ops *changes_of_both(const struct fs_node *a,
						   const struct fs_node *b)
{
	const struct fs_change_ops *changes = changes_of(a);

	return changes_of(b) == changes ? changes : NULL;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs_node *dir = node_of(req, parent);
	struct fs *fs = dir->volume->fs;
	struct fuse_entry_param answer;
	int err;

	fs_stats_add(&fs->stats.nlookups, 1);
	err = dir->volume->ops->lookup(fs, dir, name, &answer);
	fs_reply_entry(req, err, &answer);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	struct fs *fs = fs_of(req);

	fs_node_forget(fs, ino, nlookup);
	/* The ticker gives the memory back. */
	fs_wakeup_call(&fs->wakeup, false);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	struct fs *fs = fs_of(req);

	for (size_t i = 0; i < count; i++)
		fs_node_forget(fs, forgets[i].ino, forgets[i].nlookup);
	fs_wakeup_call(&fs->wakeup, false);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct fs_node *node = node_of(req, ino);
	struct fs *fs = node->volume->fs;
	struct stat st;
	int err = node->volume->ops->stat(fs, node, &st);

	(void)fi;
	if (err)
		fs_reply_error(req, err);
	else
		fuse_reply_attr(req, &st, fs->options.cache.attr_timeout_s);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		       int to_set, struct fuse_file_info *fi)
{
	struct fs_node *node = node_of(req, ino);
	const struct fs_change_ops *changes = changes_of(node);
	struct fs *fs = node->volume->fs;
	struct stat st;
	int err = -EROFS;

	if (changes)
		err = changes->setattr(req, node, attr, to_set,
				       fi ? fs_handle_of(fi) : NULL);
	if (!err)
		err = node->volume->ops->stat(fs, node, &st);
	if (!err)
		fuse_reply_attr(req, &st, fs->options.cache.attr_timeout_s);
	else if (to_set & FUSE_SET_ATTR_SIZE)
		fs_reply_change_error(req, err);
	else
		fs_reply_error(req, err);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct fs_node *node = node_of(req, ino);
	const struct fs_volume_ops *volume = node->volume->ops;
	char target[PATH_MAX + 1];
	int err = volume->readlink
			  ? volume->readlink(node->volume->fs, node, target)
			  : -EINVAL;

	if (err)
		fs_reply_error(req, err);
	else
		fuse_reply_readlink(req, target);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs_node *node = node_of(req, ino);
	struct statvfs st;
	int err = node->volume->ops->statfs(node->volume->fs, node, &st);

	if (err)
		fs_reply_error(req, err);
	else
		fuse_reply_statfs(req, &st);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		      mode_t mode, struct fuse_file_info *fi)
{
	const struct fs_open_how how = {.flags = fi->flags,
					.uid = fuse_req_ctx(req)->uid};
	struct fs_node *dir = node_of(req, parent);
	const struct fs_change_ops *changes = changes_of(dir);
	struct fs_handle *handle = NULL;
	struct fuse_entry_param answer;
	struct fs *fs = fs_of(req);
	int err = -EROFS;

	if (changes)
		err = changes->create(req, dir, name, mode, &how, &answer,
				      &handle);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fs_reply_opened(fs, handle, fi);
	fs_node_tell(fs, answer.ino, answer.attr.st_size);
	if (fuse_reply_create(req, &answer, fi) < 0) {
		fs_handle_close(fs, handle);
		fs_node_forget(fs, answer.ino, 1);
	}
}

static void make(fuse_req_t req, fuse_ino_t parent, const char *name,
		 struct fs_maker_what what)
{
	struct fs_node *dir = node_of(req, parent);
	const struct fs_change_ops *changes = changes_of(dir);
	struct fuse_entry_param answer;
	int err = changes ? changes->make(req, dir, name, &what, &answer)
			  : -EROFS;

	fs_reply_entry(req, err, &answer);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode, dev_t rdev)
{
	make(req, parent, name, (struct fs_maker_what){NULL, mode, rdev});
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode)
{
	make(req, parent, name,
	     (struct fs_maker_what){NULL, S_IFDIR | mode, 0});
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		       const char *name)
{
	make(req, parent, name, (struct fs_maker_what){target, S_IFLNK, 0});
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent,
		    const char *new_name)
{
	struct fs_node *node = node_of(req, ino);
	struct fs_node *dir = node_of(req, new_parent);
	const struct fs_change_ops *changes = changes_of_both(node, dir);
	struct fuse_entry_param answer;
	int err = changes ? -EPERM : -EROFS;

	if (changes && changes->link)
		err = changes->link(req, node, dir, new_name, &answer);
	fs_reply_entry(req, err, &answer);
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name,
			bool is_dir)
{
	struct fs_node *dir = node_of(req, parent);
	const struct fs_change_ops *changes = changes_of(dir);

	fs_reply_error(req, changes ? changes->remove(req, dir, name, is_dir)
				    : -EROFS);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, false);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, true);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		      fuse_ino_t new_parent, const char *new_name,
		      unsigned int flags)
{
	struct fs_node *dir = node_of(req, parent);
	struct fs_node *new_dir = node_of(req, new_parent);
	const struct fs_change_ops *changes = changes_of_both(dir, new_dir);
	int err = -EROFS;

	if (changes)
		err = changes->rename(req, dir, name, new_dir, new_name, flags);
	fs_reply_error(req, err);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct fs_node *node = node_of(req, ino);
	const struct fs_volume_ops *volume = node->volume->ops;
	struct fs *fs = node->volume->fs;
	const struct fs_open_how how = {.flags = fi->flags,
					.uid = fuse_req_ctx(req)->uid};
	struct fs_handle *handle = NULL;
	int err = 0;

	if (volume->opendir)
		err = volume->opendir(fs, node, &how, &handle);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fi->fh = (uintptr_t)handle;
	fi->cache_readdir = fi->keep_cache = !handle;
	if (fuse_reply_open(req, fi) < 0 && handle)
		fs_handle_close(fs, handle);
}

static void read_dir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		     const struct fuse_file_info *fi, bool plus)
{
	struct fs_node *node = node_of(req, ino);
	struct fs *fs = node->volume->fs;
	struct fs_answer answer;
	int err = fs_answer_init(&answer, req, size, plus), lost = -1;

	if (!err)
		err = node->volume->ops->list(fs, node, fs_handle_of(fi), off,
					      &answer);
	/* First send the names that were found before an error. */
	if (err && !answer.used)
		fs_reply_error(req, err);
	else
		lost = fuse_reply_buf(req, answer.buf, answer.used);
	/* If the answer was not sent, the kernel did not count its nodes. */
	for (size_t i = 0; lost && i < answer.ninos; i++)
		fs_node_forget(fs, answer.inos[i], 1);
	fs_answer_fini(&answer);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	read_dir(req, ino, size, off, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
			   off_t off, struct fuse_file_info *fi)
{
	read_dir(req, ino, size, off, fi, true);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
			struct fuse_file_info *fi)
{
	const struct fs_volume_ops *volume = node_of(req, ino)->volume->ops;

	/* To store the times of a directory, too, does no harm. */
	(void)datasync;
	fs_reply_change_error(
		req, volume->sync_dir ? volume->sync_dir(fs_handle_of(fi)) : 0);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino,
			  struct fuse_file_info *fi)
{
	(void)ino;
	if (fi->fh)
		fs_handle_close(fs_of(req), fs_handle_of(fi));
	fuse_reply_err(req, 0);
}

static const struct fuse_lowlevel_ops all = {
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.statfs = op_statfs,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
	.open = fs_op_open,
	.read = fs_op_read,
	.lseek = fs_op_lseek,
	.release = fs_op_release,
	.getxattr = fs_op_getxattr,
	.listxattr = fs_op_listxattr,
	.write = fs_op_write,
	.fallocate = fs_op_fallocate,
	.flush = fs_op_flush,
	.fsync = fs_op_fsync,
	.fsyncdir = op_fsyncdir,
	.setattr = op_setattr,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.symlink = op_symlink,
	.link = op_link,
	.create = op_create,
	.rename = op_rename,
	.setxattr = fs_op_setxattr,
	.removexattr = fs_op_removexattr,
};

struct fuse_lowlevel_ops fs_ops_table(bool read_write)
{
	struct fuse_lowlevel_ops ops = all;

	if (!read_write) {
		ops.flush = NULL;
		ops.fsync = NULL;
		ops.fsyncdir = NULL;
	}
	return ops;
}
