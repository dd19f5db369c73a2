/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * option_table.h - the table of mount options
 *
 * The name of each option, its values, and its field in struct fs_options.
 * mount_options.c separates the options of a command line.
 *
 * Layer: fuse.  Threads: main only.
 */
#ifndef B2F_FUSE_OPTION_TABLE_H
#define B2F_FUSE_OPTION_TABLE_H

#include "mount_options.h"

/*
 * Stores the option @name in @o; @value is NULL if none is given.  Reports
 * errors on stderr, in one line.
 *
 * Returns 0, -EINVAL or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_option_take(struct fs_options *o, const char *name, const char *value);

#endif
