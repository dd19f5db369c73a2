/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_remote_names.c - requests that change names in an object store
 *
 * A store has no links, no special files and no attributes of its own: EPERM, or
 * EOPNOTSUPP for the last.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "op_remote_names.h"
#include "remote_attr.h"
#include "remote_handle.h"
#include "remote_make.h"
#include "remote_renaming.h"
#include "remote_writer.h"
#include "reply.h"

static struct fs_remote_node *dir_of(fuse_req_t req, fuse_ino_t ino)
{
	return fs_remote_entry_of(fs_of(req)->remote, ino).node;
}

static void reply_entry(fuse_req_t req, const struct fs_remote_entry *entry)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param answer;

	fs_remote_attr_answer(fs, entry, &answer);
	if (fuse_reply_entry(req, &answer) < 0)
		fs_remote_node_put(fs->remote, entry->node, 1);
}

/* Takes away what was made and could not be opened. */
static void undo(struct fs *fs, struct fs_remote_node *dir, const char *name,
		 const struct fs_remote_entry *made)
{
	(void)!fs_remote_unlink(fs, dir, name);
	fs_remote_node_put(fs->remote, made->node, 1);
}

static int make_and_open(struct fs *fs, struct fs_remote_node *dir,
			 const char *name, struct fs_remote_entry *entry,
			 struct fs_handle **h)
{
	int err = fs_remote_make_file(fs, dir, name, entry);

	if (err)
		return err;
	/* It is a writer whatever the flags, as it is to be committed. */
	err = fs_remote_handle_open(fs, entry, O_RDWR, h);
	if (err)
		undo(fs, dir, name, entry);
	return err;
}

static void do_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		      mode_t mode, struct fuse_file_info *fi)
{
	struct fs_remote_entry entry;
	struct fs_handle *h = NULL;
	struct fuse_entry_param answer;
	struct fs *fs = fs_of(req);
	int err = make_and_open(fs, dir_of(req, parent), name, &entry, &h);

	(void)mode;
	/* Another client was faster: the kernel looks it up and opens it. */
	if (err == -EEXIST && !(fi->flags & O_EXCL))
		err = -ESTALE;
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fs_remote_attr_answer(fs, &entry, &answer);
	fs_reply_opened(fs, h, fi);
	if (fuse_reply_create(req, &answer, fi) < 0) {
		fs_handle_close(fs, h);
		fs_remote_node_put(fs->remote, entry.node, 1);
	}
}

/* A file that is made without being opened is committed at once. */
static int make_file(struct fs *fs, struct fs_remote_node *dir,
		     const char *name, struct fs_remote_entry *entry)
{
	struct fs_handle *h = NULL;
	int err = make_and_open(fs, dir, name, entry, &h);

	if (err)
		return err;
	err = fs_remote_writer_commit(fs, entry->node, h->file);
	fs_handle_close(fs, h);
	if (err)
		undo(fs, dir, name, entry);
	return err;
}

static void do_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode, dev_t rdev)
{
	struct fs_remote_entry entry;
	int err = S_ISREG(mode) ? make_file(fs_of(req), dir_of(req, parent),
					    name, &entry)
				: -EPERM;

	(void)rdev;
	if (err)
		fs_reply_error(req, err);
	else
		reply_entry(req, &entry);
}

static void do_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode)
{
	struct fs_remote_entry entry;
	int err = fs_remote_make_dir(fs_of(req), dir_of(req, parent), name,
				     &entry);

	(void)mode;
	if (err)
		fs_reply_error(req, err);
	else
		reply_entry(req, &entry);
}

static void do_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fs_reply_error(req,
		       fs_remote_unlink(fs_of(req), dir_of(req, parent), name));
}

static void do_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fs_reply_error(req,
		       fs_remote_rmdir(fs_of(req), dir_of(req, parent), name));
}

static void do_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		       const char *name)
{
	(void)target;
	(void)parent;
	(void)name;
	fs_reply_error(req, -EPERM);
}

static void do_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
		    const char *name)
{
	(void)ino;
	(void)parent;
	(void)name;
	fs_reply_error(req, -EPERM);
}

static void do_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		      fuse_ino_t new_parent, const char *new_name,
		      unsigned int flags)
{
	const struct fs_remote_where from = {dir_of(req, parent), name};
	const struct fs_remote_where to = {dir_of(req, new_parent), new_name};

	fs_reply_error(req, fs_remote_rename(fs_of(req), &from, &to, flags));
}

static void do_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			const char *value, size_t size, int flags)
{
	(void)ino;
	(void)name;
	(void)value;
	(void)size;
	(void)flags;
	fs_reply_error(req, -EOPNOTSUPP);
}

static void do_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino;
	(void)name;
	fs_reply_error(req, -EOPNOTSUPP);
}

void fs_op_remote_add_names(struct fuse_lowlevel_ops *ops)
{
	ops->create = do_create;
	ops->mknod = do_mknod;
	ops->mkdir = do_mkdir;
	ops->unlink = do_unlink;
	ops->rmdir = do_rmdir;
	ops->symlink = do_symlink;
	ops->link = do_link;
	ops->rename = do_rename;
	ops->setxattr = do_setxattr;
	ops->removexattr = do_removexattr;
}
