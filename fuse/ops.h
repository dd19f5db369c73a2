/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.h - answers the kernel's requests, one function each
 *
 * The contracts are in struct fuse_lowlevel_ops.  Each function answers its
 * request exactly once.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_OPS_H
#define B2F_FUSE_OPS_H

#include "fs.h"

/* Returns the table of all functions, for a read-only or a writable mount. */
struct fuse_lowlevel_ops fs_ops_table(bool read_write);

/* op_io.c */
void fs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		struct fuse_file_info *fi);
void fs_op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		 struct fuse_file_info *fi);
void fs_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* op_write.c */
void fs_op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
		 off_t off, struct fuse_file_info *fi);
void fs_op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
		     off_t length, struct fuse_file_info *fi);
void fs_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		 struct fuse_file_info *fi);

/* op_xattr.c */
void fs_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    size_t size);
void fs_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void fs_op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    const char *value, size_t size, int flags);
void fs_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
