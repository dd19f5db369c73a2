/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_remote_names.h - requests that change names in an object store
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_OP_REMOTE_NAMES_H
#define B2F_FUSE_OP_REMOTE_NAMES_H

#include "fuse_api.h"

/* Adds them to the table of a mount that is writable. */
void fs_op_remote_add_names(struct fuse_lowlevel_ops *ops);

#endif
