/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper.h - runs as mount.TYPE, the helper of mount(8)
 *
 * Under a name that begins with "mount." the letters mean what mount(8) says:
 * -f checks the options and mounts nothing, -s accepts unknown options, -N
 * enters a mount namespace first.  "remount" changes an existing mount here,
 * without a new daemon.
 *
 * Layer: fuse.  Threads: only before there are any.
 */
#ifndef B2F_FUSE_HELPER_H
#define B2F_FUSE_HELPER_H

#include "daemon.h"
#include "mount_options.h"
#include "source.h"

/* Is the program run as mount.TYPE? */
bool fs_helper_is(const char *program);

/* Returns mount(8)'s status for @code: 0, 1 (usage) or 32 (failed). */
int fs_helper_exit(enum fs_exit code);

/*
 * Enters the mount namespace @name: the number of a process, or a file.
 * Returns 0, or a negative errno with @reason set.
 */
B2F_MUST_CHECK
int fs_helper_enter(const char *name, char reason[FS_REASON_SIZE]);

/*
 * Makes the mount at @options->mountpoint read-only or writable, and sets the
 * kernel's options that the user gave.  Returns 0; with @reason set -EINVAL (no
 * bloscfs is there), -EROFS (it was mounted read-only) or another errno.
 */
B2F_MUST_CHECK
int fs_helper_remount(const struct fs_options *options,
		      char reason[FS_REASON_SIZE]);

#endif
