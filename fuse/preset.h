/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preset.h - settings for new chunks, as extended attributes
 *
 *   user.blosc2.codec, user.blosc2.clevel, user.blosc2.filters
 *
 * For a frame they are settings in its index; setting one is a commit.  For a
 * directory they are attributes of the directory in SOURCE: new files in it use
 * them, and new directories inherit them.
 *
 * Layer: fuse.  Threads: any; all functions but the first two may block on I/O.
 */
#ifndef B2F_FUSE_PRESET_H
#define B2F_FUSE_PRESET_H

#include <stdbool.h>
#include <stddef.h>

#include "b2frame/create.h"
#include "fs.h"

struct fs_xattr_change;

/* Is @name one of these attributes? */
bool fs_preset_is(const char *name);

/* Returns 0, or -EINVAL: the attribute has no such value. */
B2F_MUST_CHECK
int fs_preset_check(const struct fs_xattr_change *c);

/*
 * Has new chunks of the frame @node use the setting.  Returns 0, -EINVAL, or as
 * an open for writing and fs_open_frame_commit().
 */
B2F_MUST_CHECK
int fs_preset_set(struct fs *fs, struct fs_backed *node,
		  const struct fs_xattr_change *c);

/*
 * Sets the valid values of the directory @fd (O_PATH) in @settings.  Returns
 * false if the directory has no extended attributes at all, also none that the
 * kernel hands down to new files.
 */
bool fs_preset_of_dir(int fd, struct b2f_settings *settings);

/*
 * Copies the attributes of the directory @fd to its new subdirectory @name.
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_preset_inherit(int fd, const char *name);

#endif
