/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount_table.h - which filesystem is mounted where, in this and other namespaces
 *
 * The kernel's table is asked, and not the filesystem, which may not answer.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_MOUNT_TABLE_H
#define B2F_CLI_MOUNT_TABLE_H

#include <sys/types.h>

#include "b2frame/error.h"

struct cli_mount_row {
	/* "MAJOR:MINOR", the same wherever that filesystem is mounted. */
	char device[32];
	/* The user who mounted it, and may always use it. */
	uid_t uid;
	gid_t gid;
};

/*
 * Finds the FUSE filesystem that is mounted on @path, the uppermost.  Returns 0,
 * -ENODATA (there is none), or an errno of realpath(3) or /proc.
 */
B2F_MUST_CHECK
int cli_mount_table_find(const char *path, struct cli_mount_row *out);

/*
 * A process, as far as this one may look, in whose mount namespace the filesystem
 * of @row is mounted; 0: there is none.
 */
pid_t cli_mount_table_holder(const struct cli_mount_row *row);

#endif
