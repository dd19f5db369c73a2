/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_source.h - SOURCE as a URL: keys, kind, and shown names
 *
 * Layer: fuse.  Threads: main only, before the first request and after the last.
 */
#ifndef B2F_FUSE_BUCKET_SOURCE_H
#define B2F_FUSE_BUCKET_SOURCE_H

#include "fs.h"

/*
 * Looks at SOURCE and makes fs->bucket, with its root; and fs->source.path the
 * name by which messages and mount(8) call it, which has no secret in it.  A
 * frame is opened once, so that a damaged one is refused now.  Decides whether the
 * mount is writable, and logs once if not.  Close it with fs_bucket_source_close(),
 * also after an error.
 *
 * Returns 0, or an error of requests (b2frame/remote.h) with @reason set.
 */
B2F_MUST_CHECK
int fs_bucket_source_open(struct fs *fs, char reason[FS_REASON_SIZE]);

/* The mount is to end: the server is not waited for long once all is committed. */
void fs_bucket_source_rest(struct fs *fs);

/* Ends the bucket, for which the server is not waited for long. */
void fs_bucket_source_close(struct fs *fs);

/* Frees it, when no thread of the runtime reads from it any more. */
void fs_bucket_source_free(struct fs *fs);

/*
 * Has fs_bucket_writer_fini(), which may run, end at once.  Threads: any, while there
 * is a bucket.
 */
void fs_bucket_source_abandon(struct fs *fs);

#endif
