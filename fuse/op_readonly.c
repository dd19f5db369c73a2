/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_readonly.c - requests that change something, in a read-only mount
 *
 * The kernel refuses them itself, as the mount has the flag ro; but root can
 * take that flag away with a remount.
 */
#include <errno.h>

#include "ops.h"
#include "reply.h"

void fs_refuse_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		       int to_set, struct fuse_file_info *fi)
{
	(void)ino, (void)attr, (void)to_set, (void)fi;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode, dev_t rdev)
{
	(void)parent, (void)name, (void)mode, (void)rdev;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode)
{
	(void)parent, (void)name, (void)mode;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent, (void)name;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent, (void)name;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		       const char *name)
{
	(void)target, (void)parent, (void)name;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		      fuse_ino_t new_parent, const char *new_name,
		      unsigned int flags)
{
	(void)parent, (void)name, (void)new_parent, (void)new_name;
	(void)flags;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent,
		    const char *new_name)
{
	(void)ino, (void)new_parent, (void)new_name;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		      mode_t mode, struct fuse_file_info *fi)
{
	(void)parent, (void)name, (void)mode, (void)fi;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_write(fuse_req_t req, fuse_ino_t ino, const char *buf,
		     size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)ino, (void)buf, (void)size, (void)off, (void)fi;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
			 off_t length, struct fuse_file_info *fi)
{
	(void)ino, (void)mode, (void)off, (void)length, (void)fi;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			const char *value, size_t size, int flags)
{
	(void)ino, (void)name, (void)value, (void)size, (void)flags;
	fs_reply_error(req, -EROFS);
}

void fs_refuse_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino, (void)name;
	fs_reply_error(req, -EROFS);
}
