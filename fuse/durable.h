/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * durable.h - a frame that takes the place of another one must not be worse
 *
 * A new file that was closed, but not fsync'ed, is durable some seconds later
 * (ticker.h).  Programs that write NEW.tmp and rename it over NEW rely on it,
 * nevertheless, that after a loss of power NEW is the old file or the new one;
 * ext4 and others see to that.  So does the mount: what is not durable becomes
 * so before it replaces something that may be.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_DURABLE_H
#define B2F_FUSE_DURABLE_H

#include "fs.h"
#include "resolve.h"

/*
 * Makes the sparse frame @found durable, if it may not be; @node is its node,
 * or NULL if the kernel does not know it.  Returns 0, as b2f_file_commit(), or
 * an errno of fsync(2).
 */
__attribute__((warn_unused_result)) int
fs_durable_make(struct fs *fs, struct fs_node *node,
		const struct fs_found *found);

/*
 * The same for the frame @node in the directory @path_fd, if it was left by
 * somebody who has closed it.  Who has it open now knows nothing of the files
 * that were written then.  Returns 0 or an errno.
 */
__attribute__((warn_unused_result)) int
fs_durable_make_left(struct fs *fs, struct fs_node *node, int path_fd);

/* Is the frame @node surely not durable, so that it can be replaced at once? */
bool fs_durable_is_not(struct fs *fs, struct fs_node *node);

#endif
