/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_source.h - SOURCE as a URL: who asks, what is there, and what is shown of it
 *
 * Layer: fuse.  Threads: main only, before the first request and after the last.
 */
#ifndef B2F_FUSE_REMOTE_SOURCE_H
#define B2F_FUSE_REMOTE_SOURCE_H

#include "fs.h"

/*
 * Looks at SOURCE and makes fs->remote, with its root; and fs->source.path the
 * name by which messages and mount(8) call it, which has no secret in it.  A
 * frame is opened once, so that a damaged one is refused now.  Close it with
 * fs_remote_source_close(), also after an error.
 *
 * Returns 0, or an error of requests (b2frame/remote.h) with @reason set.
 */
B2F_MUST_CHECK
int fs_remote_source_open(struct fs *fs, char reason[FS_REASON_SIZE]);

/* Does nothing without a remote. */
void fs_remote_source_close(struct fs *fs);

/* Closes what is not used any more.  Returns whether there is more to come. */
bool fs_remote_source_tick(struct fs *fs);

#endif
