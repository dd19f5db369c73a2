/* SPDX-License-Identifier: BSD-3-Clause */
/* op_node.c - nodes: found, forgotten, looked at, and given other attributes */
#include <errno.h>

#include "ops.h"
#include "reply.h"
#include "volume.h"

void fs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param answer;
	struct fs *fs = fs_of(req);
	int err;

	fs_stats_add(&fs->stats.nlookups, 1);
	err = fs_volume_of(fs, parent)->lookup(fs, parent, name, &answer);
	fs_reply_entry(req, err, &answer);
}

void fs_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	struct fs *fs = fs_of(req);

	fs_node_forget(fs, ino, nlookup);
	fuse_reply_none(req);
}

void fs_op_forget_multi(fuse_req_t req, size_t count,
			struct fuse_forget_data *forgets)
{
	struct fs *fs = fs_of(req);

	for (size_t i = 0; i < count; i++)
		fs_node_forget(fs, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

void fs_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct stat st;
	int err = fs_volume_of(fs, ino)->stat(fs, ino, &st);

	(void)fi;
	if (err)
		fs_reply_error(req, err);
	else
		fuse_reply_attr(req, &st, fs->options.cache.attr_timeout_s);
}

void fs_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		   int to_set, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	const struct fs_volume_ops *volume = fs_volume_of(fs, ino);
	struct stat st;
	int err = -EROFS;

	if (fs->read_write && volume->is_writable)
		err = volume->setattr(req, ino, attr, to_set,
				      fi ? fs_handle_of(fi) : NULL);
	if (!err)
		err = volume->stat(fs, ino, &st);
	if (!err)
		fuse_reply_attr(req, &st, fs->options.cache.attr_timeout_s);
	else if (to_set & FUSE_SET_ATTR_SIZE)
		fs_reply_change_error(req, err);
	else
		fs_reply_error(req, err);
}

void fs_op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	const struct fs_volume_ops *volume = fs_volume_of(fs, ino);
	char target[PATH_MAX + 1];
	int err = volume->readlink ? volume->readlink(fs, ino, target)
				   : -EINVAL;

	if (err)
		fs_reply_error(req, err);
	else
		fuse_reply_readlink(req, target);
}

void fs_op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	struct statvfs st;
	int err = fs_volume_of(fs, ino)->statfs(fs, ino, &st);

	if (err)
		fs_reply_error(req, err);
	else
		fuse_reply_statfs(req, &st);
}
