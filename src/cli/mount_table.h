/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount_table.h - the kernel's table of mounts, in this and other namespaces
 *
 * Reads the table, and never asks the filesystem, which may not answer.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_MOUNT_TABLE_H
#define B2F_CLI_MOUNT_TABLE_H

#include <sys/types.h>

#include "b2frame/error.h"

struct cli_mount_row {
	/* "MAJOR:MINOR", the same for all mounts of the filesystem. */
	char device[32];
	/* The user who mounted it, and may always use it. */
	uid_t uid;
	gid_t gid;
};

/*
 * Finds the topmost FUSE filesystem mounted on @path.  Returns 0, -ENODATA
 * (there is none), or an errno of realpath(3) or /proc.
 */
B2F_MUST_CHECK
int cli_mount_table_find(const char *path, struct cli_mount_row *out);

/*
 * Returns a process in whose mount namespace the filesystem of @row is mounted,
 * among those that may be examined; 0: none.
 */
pid_t cli_mount_table_holder(const struct cli_mount_row *row);

#endif
