/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.c - the table of requests
 *
 * Missing on purpose: access (the kernel checks permissions itself), locks (the
 * kernel has them of its own), and in a read-only mount flush and fsync.  The
 * kernel refuses changes of a read-only mount itself; as root can take that
 * flag away with a remount, all that changes something asks that, too.
 */
#include "ops.h"

static const struct fuse_lowlevel_ops all = {
	.lookup = fs_op_lookup,
	.forget = fs_op_forget,
	.forget_multi = fs_op_forget_multi,
	.getattr = fs_op_getattr,
	.readlink = fs_op_readlink,
	.statfs = fs_op_statfs,
	.opendir = fs_op_opendir,
	.readdir = fs_op_readdir,
	.readdirplus = fs_op_readdirplus,
	.releasedir = fs_op_releasedir,
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
	.fsyncdir = fs_op_fsyncdir,
	.setattr = fs_op_setattr,
	.mknod = fs_op_mknod,
	.mkdir = fs_op_mkdir,
	.unlink = fs_op_unlink,
	.rmdir = fs_op_rmdir,
	.symlink = fs_op_symlink,
	.link = fs_op_link,
	.create = fs_op_create,
	.rename = fs_op_rename,
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
