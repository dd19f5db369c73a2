/* SPDX-License-Identifier: BSD-3-Clause */
/* op_names.c - names that come and go: create, mkdir, link, unlink, rename ... */
#include <errno.h>

#include "ops.h"
#include "reply.h"
#include "volume.h"

/* Nothing can be changed there. */
static const struct fs_volume_ops read_only;

/*
 * The volume of @ino, for a change.  The kernel refuses those of a read-only mount
 * itself, but root can remount it as writable.
 */
static const struct fs_volume_ops *volume_of(fuse_req_t req, fuse_ino_t ino)
{
	const struct fs *fs = fs_of(req);
	const struct fs_volume_ops *volume = fs_volume_of(fs, ino);

	return fs->read_write && volume->is_writable ? volume : &read_only;
}

/* The same of two nodes, which have to be of one. */
static const struct fs_volume_ops *volume_of_both(fuse_req_t req, fuse_ino_t a,
						  fuse_ino_t b)
{
	const struct fs_volume_ops *volume = volume_of(req, a);

	return volume_of(req, b) == volume ? volume : &read_only;
}

/* Why @volume has not what is asked for. */
static int refusal(const struct fs_volume_ops *volume)
{
	return volume->is_writable ? -EPERM : -EROFS;
}

void fs_op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		  mode_t mode, struct fuse_file_info *fi)
{
	const struct fs_open_how how = {.flags = fi->flags,
					.uid = fuse_req_ctx(req)->uid};
	const struct fs_volume_ops *volume = volume_of(req, parent);
	struct fs_handle *handle = NULL;
	struct fuse_entry_param answer;
	struct fs *fs = fs_of(req);
	int err = refusal(volume);

	if (volume->create)
		err = volume->create(req, parent, name, mode, &how, &answer,
				     &handle);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fs_reply_opened(fs, handle, fi);
	if (fuse_reply_create(req, &answer, fi) < 0) {
		fs_handle_close(fs, handle);
		fs_node_forget(fs, answer.ino, 1);
	}
}

void fs_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		 mode_t mode, dev_t rdev)
{
	const struct fs_volume_ops *volume = volume_of(req, parent);
	struct fuse_entry_param answer;
	int err = refusal(volume);

	if (volume->mknod)
		err = volume->mknod(req, parent, name, mode, rdev, &answer);
	fs_reply_entry(req, err, &answer);
}

void fs_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		 mode_t mode)
{
	const struct fs_volume_ops *volume = volume_of(req, parent);
	struct fuse_entry_param answer;
	int err = refusal(volume);

	if (volume->mkdir)
		err = volume->mkdir(req, parent, name, mode, &answer);
	fs_reply_entry(req, err, &answer);
}

void fs_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		   const char *name)
{
	const struct fs_volume_ops *volume = volume_of(req, parent);
	struct fuse_entry_param answer;
	int err = refusal(volume);

	if (volume->symlink)
		err = volume->symlink(req, target, parent, name, &answer);
	fs_reply_entry(req, err, &answer);
}

void fs_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent,
		const char *new_name)
{
	const struct fs_volume_ops *volume =
		volume_of_both(req, ino, new_parent);
	struct fuse_entry_param answer;
	int err = refusal(volume);

	if (volume->link)
		err = volume->link(req, ino, new_parent, new_name, &answer);
	fs_reply_entry(req, err, &answer);
}

void fs_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct fs_volume_ops *volume = volume_of(req, parent);

	fs_reply_error(req, volume->unlink ? volume->unlink(req, parent, name)
					   : refusal(volume));
}

void fs_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct fs_volume_ops *volume = volume_of(req, parent);

	fs_reply_error(req, volume->rmdir ? volume->rmdir(req, parent, name)
					  : refusal(volume));
}

void fs_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		  fuse_ino_t new_parent, const char *new_name,
		  unsigned int flags)
{
	const struct fs_volume_ops *volume =
		volume_of_both(req, parent, new_parent);
	int err = refusal(volume);

	if (volume->rename)
		err = volume->rename(req, parent, name, new_parent, new_name,
				     flags);
	fs_reply_error(req, err);
}
