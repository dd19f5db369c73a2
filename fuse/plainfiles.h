/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plainfiles.h - what the kernel has cached of other files than frames
 *
 * The kernel keeps data until it is told of another size or to drop them.  It
 * must not be told to when only we have changed them: it lets go of the pages
 * that it writes before we have the data, and who reads them again at that
 * moment would see the old ones from then on.  So changes of ours are counted,
 * and what differs without one is of another program.
 *
 * Layer: fuse.  Threads: any; takes files->lock.
 */
#ifndef B2F_FUSE_PLAINFILES_H
#define B2F_FUSE_PLAINFILES_H

#include <stdbool.h>
#include <stddef.h>

#include "tree.h"

struct fs;
struct fs_handle;

/* Around each change of ours to @node; @fd: of any kind, for a look at it. */
void fs_plain_begin(struct fs *fs, struct fs_node *node, int fd);
void fs_plain_end(struct fs *fs, struct fs_node *node, int fd);

/*
 * Counts @handle, whose fd was just opened.  *@keep: what the kernel has
 * cached is right.  Returns 0 or an errno.
 */
__attribute__((warn_unused_result)) int
fs_plain_add(struct fs *fs, struct fs_handle *handle, bool *keep);

/*
 * The opposite, for one that is being closed, and was perhaps not counted.
 * What it has written is noted.
 */
void fs_plain_remove(struct fs *fs, struct fs_handle *handle);

/*
 * All that are counted, each with a reference: free @out's array.  Returns 0
 * or -ENOMEM.
 */
__attribute__((warn_unused_result)) int
fs_plain_all(struct fs *fs, struct fs_handle ***out, size_t *n);

/*
 * Has another program changed the data of @handle since the last look?  Then it
 * is counted in state.ndropping.
 */
bool fs_plain_has_changed(struct fs *fs, struct fs_handle *handle);

#endif
