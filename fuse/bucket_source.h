/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_source.h - SOURCE as a URL: keys, kind, and shown names
 *
 * Layer: fuse.  Threads: main only, before the first request and after the
 * last.
 */
#ifndef B2F_FUSE_BUCKET_SOURCE_H
#define B2F_FUSE_BUCKET_SOURCE_H

#include "fs.h"

/*
 * Looks at SOURCE and makes fs->bucket with its root.  Sets fs->source.path to
 * the name that messages and mount(8) show, which contains no secret.  A frame
 * is opened once, so that a damaged one is refused now.  Finds out whether the
 * mount is writable, and logs once if not.  Close it with
 * fs_bucket_source_close(), also after an error.
 *
 * Returns 0, or an error of requests (b2frame/remote.h) with @reason set.
 */
B2F_MUST_CHECK
int fs_bucket_source_open(struct fs *fs, char reason[FS_REASON_SIZE]);

/* The mount is to end: once all is committed, give the server little time. */
void fs_bucket_source_rest(struct fs *fs);

/* Ends the bucket; does not wait long for the server. */
void fs_bucket_source_close(struct fs *fs);

/* Frees the bucket, when no thread of the runtime reads from it any more. */
void fs_bucket_source_free(struct fs *fs);

/*
 * Has fs_bucket_writer_fini() end at once, if it runs.  Threads: any, while
 * there is a bucket.
 */
void fs_bucket_source_abandon(struct fs *fs);

#endif
