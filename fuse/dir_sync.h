/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir_sync.h - fsync of a directory, and of what is in it
 *
 * Layer: fuse.  Threads: any; both block on I/O.
 */
#ifndef B2F_FUSE_DIR_SYNC_H
#define B2F_FUSE_DIR_SYNC_H

#include "b2frame/error.h"

/*
 * Makes all files of the directory @path_fd (O_PATH) durable, and their names.
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_dir_sync_files(int path_fd);

/* Its names alone. */
B2F_MUST_CHECK
int fs_dir_sync_names(int path_fd);

#endif
