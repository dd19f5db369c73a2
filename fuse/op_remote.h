/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_remote.h - the requests about a mount of an object store (remote_node.h)
 *
 * Such a mount has no node of the tree, so that it has a table of its own.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_OP_REMOTE_H
#define B2F_FUSE_OP_REMOTE_H

#include <stdbool.h>

#include "fuse_api.h"

/* All that can be asked of a mount that is @read_write, or is not. */
struct fuse_lowlevel_ops fs_op_remote_table(bool read_write);

#endif
