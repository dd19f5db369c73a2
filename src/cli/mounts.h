/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.h - questions to mounts of bloscfs
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_MOUNTS_H
#define B2F_CLI_MOUNTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/at.h"

/*
 * Returns the attribute user.bloscfs.@name of the root of the mount @path,
 * malloc'ed; NULL with errno: no answer, or no such attribute.
 */
char *cli_mounts_ask(const char *path, const char *name);

/*
 * Returns the mount's description of the frame behind its file @at, with the
 * path of the frame as "in_mount"; free it.  NULL: not a file of a mount.
 */
json_t *cli_mounts_frame(const struct cli_at *at);

/* The answer of a daemon. */
struct cli_answer {
	/* Its pid, or a negative errno. */
	long pid;
	char version[32];
	/* It has stored all data that had been written. */
	bool stored;
};

/* A process that asks; no signal but a deadly one ends its wait. */
struct cli_asker {
	pid_t pid;
	/* It writes its answer there; -1: there is none. */
	int fd;
};

/* The user who mounted a mount, and may always use it. */
struct cli_mounter {
	uid_t uid;
	gid_t gid;
};

/*
 * Starts to ask the mount @path.  With @user has the daemon store written data,
 * and root asks as that user.
 */
struct cli_asker cli_asker_start(const char *path,
				 const struct cli_mounter *user);

/*
 * Reads the answer, and ends @asker.  @deadline is of cli_common_now_ms(); 0:
 * no limit.  Errors: -ETIMEDOUT; -EOPNOTSUPP (no process could ask), or the
 * errno of getxattr(2).
 */
struct cli_answer cli_asker_read(const struct cli_asker *asker,
				 uint64_t deadline);

#endif
