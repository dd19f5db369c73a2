/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * durable_sync.h - syncs of whole filesystems, and of frames one by one
 *
 * durable.h has the table of what is to be synced.
 *
 * Layer: fuse.  Threads: _found and _now from any; the rest from the ticker's, or when
 * that has ended.  All but _waits and _is_crowded block on I/O.
 */
#ifndef B2F_FUSE_DURABLE_SYNC_H
#define B2F_FUSE_DURABLE_SYNC_H

#include <stdbool.h>
#include <time.h>

#include "b2frame/error.h"

struct fs;
struct fs_found;
struct fs_backed;

/*
 * Makes the contents of the frame @found durable; @node is its node, or NULL if
 * the kernel does not know it.  Returns as b2f_file_commit(), or an errno
 * of fsync(2).
 */
B2F_MUST_CHECK
int fs_durable_sync_found(struct fs *fs, struct fs_backed *node,
			  const struct fs_found *found);

/* Is there something to be synced, sooner or later? */
bool fs_durable_sync_waits(struct fs *fs);

/* Are so many frames waiting that they should not wait for the timer? */
bool fs_durable_sync_is_crowded(struct fs *fs);

/*
 * Syncs the filesystems that have been waiting for @age_s seconds.  Returns 0,
 * or the first error of what could not be made durable.
 */
B2F_MUST_CHECK
int fs_durable_sync_due(struct fs *fs, time_t age_s);

/*
 * Commits all that is open, and makes it durable, and what waits for that.  Returns 0,
 * or the first error.
 */
B2F_MUST_CHECK
int fs_durable_sync_now(struct fs *fs);

/*
 * Makes all durable that waits for it; everything is closed.  Returns 0, or an
 * error: then something may be lost, as is logged.
 */
B2F_MUST_CHECK
int fs_durable_sync_fini(struct fs *fs);

#endif
