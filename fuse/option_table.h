/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * option_table.h - the table of mount options
 *
 * What an option is called, what it takes, and where in struct fs_options that
 * is stored.  How the options of a command line are separated is not known here
 * (mount_options.c).
 *
 * Layer: fuse.  Threads: main only.
 */
#ifndef B2F_FUSE_OPTION_TABLE_H
#define B2F_FUSE_OPTION_TABLE_H

#include "mount_options.h"

/*
 * Stores in @o what the option @name says; @value is NULL if none is given.
 * What is wrong is told on stderr, in one line.
 *
 * Returns 0, -EINVAL or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_option_take(struct fs_options *o, const char *name, const char *value);

#endif
