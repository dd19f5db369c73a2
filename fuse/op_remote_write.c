/* SPDX-License-Identifier: BSD-3-Clause */
/* op_remote_write.c - requests that change data in an object store */
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "op_remote_write.h"
#include "ops.h"
#include "remote_attr.h"
#include "remote_handle.h"
#include "remote_writer.h"
#include "reply.h"

/* A name in a store is durable as soon as it is there. */
static void do_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
			struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	(void)fi;
	fs_reply_error(req, 0);
}

/* By its name: committed when this returns. */
static int resize_entry(struct fs *fs, const struct fs_remote_entry *entry,
			uint64_t size)
{
	struct fs_handle *handle;
	int err = fs_remote_handle_open(fs, entry, O_WRONLY, &handle);

	if (err)
		return err;
	err = fs_remote_handle_resize(fs, handle, size);
	if (!err)
		err = fs_remote_writer_commit(fs, entry->node, handle->file);
	fs_handle_close(fs, handle);
	return err;
}

/*
 * There is one owner, and one mode: to set these again is no error, as cp -p and tar
 * do that.
 */
static int check_meta(const struct stat *now, const struct stat *wanted,
		      int to_set)
{
	if ((to_set & FUSE_SET_ATTR_MODE) &&
	    (wanted->st_mode & 07777) != (now->st_mode & 07777))
		return -EPERM;
	if ((to_set & FUSE_SET_ATTR_UID) && wanted->st_uid != now->st_uid)
		return -EPERM;
	if ((to_set & FUSE_SET_ATTR_GID) && wanted->st_gid != now->st_gid)
		return -EPERM;
	return 0;
}

/* Nothing can be kept in the store, so it is shown until the node goes. */
static void set_times(struct fs *fs, struct fs_remote_node *node,
		      const struct stat *wanted, int to_set)
{
	struct timespec mtime = wanted->st_mtim;

	if (!(to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) ||
	    node->kind == FS_REMOTE_DIR)
		return;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		clock_gettime(CLOCK_REALTIME, &mtime);
	fs_remote_writer_set_mtime(fs, node, &mtime);
}

static void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *wanted,
		       int to_set, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	const struct fs_remote_entry entry = fs_remote_entry_of(fs->remote, ino);
	struct stat st;
	int err;

	fs_remote_attr(fs, &entry, &st);
	err = check_meta(&st, wanted, to_set);
	if (!err && (to_set & FUSE_SET_ATTR_SIZE))
		err = fi ? fs_remote_handle_resize(fs, fs_handle_of(fi),
						 (uint64_t)wanted->st_size)
			 : resize_entry(fs, &entry, (uint64_t)wanted->st_size);
	if (err) {
		fs_reply_change_error(req, err);
		return;
	}
	set_times(fs, entry.node, wanted, to_set);
	fs_remote_attr(fs, &entry, &st);
	fuse_reply_attr(req, &st, fs->options.attr_timeout_s);
}

void fs_op_remote_add_changes(struct fuse_lowlevel_ops *ops)
{
	ops->write = fs_op_write;
	ops->fallocate = fs_op_fallocate;
	ops->flush = fs_op_flush;
	ops->fsync = fs_op_fsync;
	ops->fsyncdir = do_fsyncdir;
	ops->setattr = do_setattr;
}
