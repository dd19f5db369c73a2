/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_pack.h - the requests about nodes of packs (packs.h)
 *
 * Their contracts are those of struct fuse_lowlevel_ops, but that @node stands
 * for the inode.  Each answers its request exactly once.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_OP_PACK_H
#define B2F_FUSE_OP_PACK_H

#include "packs.h"

/* Answers with a node of a pack, of fs_packs_enter() or _lookup(). */
void fs_op_pack_reply(fuse_req_t req, const struct fuse_entry_param *answer);

void fs_op_pack_lookup(fuse_req_t req, struct fs_pack_node *dir,
		       const char *name);
void fs_op_pack_getattr(fuse_req_t req, struct fs_pack_node *node);
void fs_op_pack_readdir(fuse_req_t req, struct fs_pack_node *dir, size_t size,
			off_t off, bool plus);
void fs_op_pack_getxattr(fuse_req_t req, struct fs_pack_node *node,
			 const char *name, size_t size);
void fs_op_pack_listxattr(fuse_req_t req, struct fs_pack_node *node,
			  size_t size);

#endif
