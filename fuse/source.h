/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.h - checks SOURCE and MOUNTPOINT before the mount
 *
 * All descriptors are opened before the mount covers MOUNTPOINT; so SOURCE may
 * be MOUNTPOINT itself, or contain it.
 *
 * Layer: fuse.  Threads: from the only one.
 */
#ifndef B2F_FUSE_SOURCE_H
#define B2F_FUSE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "b2frame/error.h"
#include "b2frame/log.h"

struct fs_source {
	/* Absolute, without symbolic links. */
	char *path;
	/* A frame, or a pack; else a directory. */
	bool is_frame;
	/* A store that is a file (packs.h): a directory of frames. */
	bool is_pack;
	/* The pack's directory that becomes the root; "": itself. */
	char *inside;
	/* A URL, so there is no local file. */
	bool is_url;
	bool sparse;
	/* O_PATH: the directory, or the directory of the frame. */
	int fd;
	/*
	 * The frame's name in @fd; the second: its name in the mount.  NULL for
	 * a directory.
	 */
	char *name;
	char *shown;
};

struct fs_mountpoint {
	/* Absolute, without symbolic links. */
	char *path;
	/* Regular file or directory? */
	bool is_file;
	/* O_PATH. */
	int fd;
};

/* Size of the reason for a failure. */
#define FS_REASON_SIZE 600

/* A log that keeps the last error of the library in @reason. */
struct b2f_log fs_source_log(char reason[FS_REASON_SIZE]);

/*
 * Looks at SOURCE @path.  Opens a frame once, so that a damaged one is refused
 * before the mount.  Free *@out with fs_source_fini(), also after an error.
 *
 * Returns 0, an errno, or an error of b2f_frame_open(); then @reason is set.
 */
B2F_MUST_CHECK
int fs_source_open(const char *path, struct fs_source *out,
		   char reason[FS_REASON_SIZE]);

void fs_source_fini(struct fs_source *source);

/*
 * Can @source be written to?  Returns 0, -EROFS (its filesystem is read-only),
 * -EACCES or an errno.
 */
B2F_MUST_CHECK
int fs_source_check_write(const struct fs_source *source);

/*
 * Returns the name of the filesystem of @source if that may not keep the
 * promises of a commit (bloscfs(5), BACKINGS), or NULL.
 */
const char *fs_source_weakness(const struct fs_source *source);

/*
 * Looks at MOUNTPOINT @path.  Free *@out with fs_source_mountpoint_fini(),
 * also after an error.  Returns 0, -ENOTDIR (neither file nor directory) or an
 * errno; then @reason is set.
 */
B2F_MUST_CHECK
int fs_source_mountpoint(const char *path, struct fs_mountpoint *out,
			 char reason[FS_REASON_SIZE]);

void fs_source_mountpoint_fini(struct fs_mountpoint *mountpoint);

#endif
