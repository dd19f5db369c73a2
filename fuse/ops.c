/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.c - the table of requests
 *
 * What is missing on purpose: readdirplus (it would have to look into every
 * file of a folder), getxattr and listxattr (the kernel turns that into
 * EOPNOTSUPP and does not ask again), flush and fsync (nothing is written),
 * access (the kernel checks permissions itself).
 */
#include "ops.h"

const struct fuse_lowlevel_ops fs_ops = {
	.init = fs_op_init,
	.lookup = fs_op_lookup,
	.forget = fs_op_forget,
	.forget_multi = fs_op_forget_multi,
	.getattr = fs_op_getattr,
	.readlink = fs_op_readlink,
	.statfs = fs_op_statfs,
	.opendir = fs_op_opendir,
	.readdir = fs_op_readdir,
	.releasedir = fs_op_releasedir,
	.open = fs_op_open,
	.read = fs_op_read,
	.lseek = fs_op_lseek,
	.release = fs_op_release,
	.setattr = fs_op_setattr,
	.mknod = fs_op_mknod,
	.mkdir = fs_op_mkdir,
	.unlink = fs_op_unlink,
	.rmdir = fs_op_rmdir,
	.symlink = fs_op_symlink,
	.rename = fs_op_rename,
	.link = fs_op_link,
	.create = fs_op_create,
	.write = fs_op_write,
	.fallocate = fs_op_fallocate,
	.setxattr = fs_op_setxattr,
	.removexattr = fs_op_removexattr,
};
