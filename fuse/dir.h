/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.h - looks at, syncs and closes directories
 *
 * A directory is given by a descriptor, which may be O_PATH.
 *
 * Layer: fuse.  Threads: any; all functions block on I/O.
 */
#ifndef B2F_FUSE_DIR_H
#define B2F_FUSE_DIR_H

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/error.h"

/* Room for the path of any descriptor. */
#define FS_DIR_PATH_SIZE 32

/* Writes the path in /proc of the descriptor @fd. */
void fs_dir_path(int fd, char path[FS_DIR_PATH_SIZE]);

/* The same below a descriptor of /proc/self/fd; returns a part of @path. */
const char *fs_dir_number(int fd, char path[FS_DIR_PATH_SIZE]);

/* Closes @fd; a negative one does nothing. */
static inline void fs_dir_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Does @name in the directory @dirfd lead to the very file @st? */
bool fs_dir_has(int dirfd, const char *name, const struct stat *st);

/*
 * Can only this kernel change the filesystem of @fd?  Another machine can with
 * NFS, a daemon with FUSE.
 */
bool fs_dir_is_local(int fd);

/*
 * May the creation times of files on the filesystem of @fd change?  With
 * overlayfs the first change of a file of a lower layer makes a copy, which has
 * the inode number of the file, but a creation time of its own.
 */
bool fs_dir_changes_births(int fd);

/*
 * Makes the directory @path_fd, its names and all its files durable; or the one
 * file @path_fd.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_dir_sync(int path_fd);

/*
 * Opens the directory or file @path_fd, so that its filesystem can be synced.
 * Returns a descriptor or an errno.
 */
B2F_MUST_CHECK
int fs_dir_open_to_sync(int path_fd);

/* Makes only the names durable. */
B2F_MUST_CHECK
int fs_dir_sync_names(int path_fd);

/* Syncs the filesystem that the directory or file @path_fd is on. */
B2F_MUST_CHECK
int fs_dir_sync_filesystem(int path_fd);

#endif
