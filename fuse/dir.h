/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.h - the entries of a directory, one by one, and fsync of it
 *
 * Directories are given by a descriptor of them, which may be O_PATH.
 *
 * Layer: fuse.  Threads: any; all block on I/O.
 */
#ifndef B2F_FUSE_DIR_H
#define B2F_FUSE_DIR_H

#include <dirent.h>
#include <stdbool.h>

#include "b2frame/error.h"

/* Gets one entry @d of the directory @dirfd.  Anything but 0 ends the walk. */
typedef int fs_dir_fn(void *arg, int dirfd, const struct dirent *d);

/*
 * Calls @fn with @arg for each entry but "." and "..".  Returns what @fn did
 * last, or an errno of opening the directory.
 */
B2F_MUST_CHECK
int fs_dir_each(int path_fd, fs_dir_fn *fn, void *arg);

/*
 * Does only this kernel change what is on the filesystem of @fd?  Elsewhere another
 * machine may do so (NFS), or a daemon (FUSE).
 */
bool fs_dir_is_local(int fd);

/*
 * Makes all files in the directory durable, and their names; or the one file that
 * @path_fd is.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_dir_sync(int path_fd);

/*
 * Opens the directory, or the one file, so that its filesystem can be synced by
 * it.  Returns a descriptor or an errno.
 */
B2F_MUST_CHECK
int fs_dir_open_to_sync(int path_fd);

/* Its names alone. */
B2F_MUST_CHECK
int fs_dir_sync_names(int path_fd);

#endif
