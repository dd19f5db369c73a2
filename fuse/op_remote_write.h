/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_remote_write.h - requests that change data in an object store
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_OP_REMOTE_WRITE_H
#define B2F_FUSE_OP_REMOTE_WRITE_H

#include "fuse_api.h"

/* Adds them to the table of a mount that is writable. */
void fs_op_remote_add_changes(struct fuse_lowlevel_ops *ops);

#endif
