/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_doomed.h - chunks that were replaced, until they are removed
 *
 * They stay as long as this mount has open what they were, and for other clients as
 * long as what a commit replaces.
 *
 * Layer: fuse.  Threads: _add from any, _tick from the ticker's, _fini when that and
 * all requests have ended.  All may make requests.
 */
#ifndef B2F_FUSE_BUCKET_DOOMED_H
#define B2F_FUSE_BUCKET_DOOMED_H

#include "bucket_node.h"

/*
 * Removes @remains, which it takes over and which may be NULL, in a while; not before
 * @node, if that is not NULL, is closed.  If the mount ends before, they are left.
 */
void fs_bucket_doomed_add(struct fs *fs, struct b2f_remote_remains *remains,
			  struct fs_object *node);

/* Removes those whose time has come.  Returns whether there are more. */
bool fs_bucket_doomed_tick(struct fs *fs);

void fs_bucket_doomed_fini(struct fs *fs);

#endif
