/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.h - the mounts of bloscfs, and questions to them
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_MOUNTS_H
#define B2F_CLI_MOUNTS_H

#include <jansson.h>

#include "b2frame/error.h"

struct cli_mount {
	/* The absolute paths of the mount command. */
	const char *source;
	const char *mountpoint;
	/* "rw,nosuid,..." */
	const char *options;
};

/*
 * Calls @fn with each mount of bloscfs in this mount namespace, the oldest
 * first.  Returns 0, or a negative errno of /proc.
 */
B2F_MUST_CHECK
int cli_mounts_each(void (*fn)(void *arg, const struct cli_mount *mount),
		    void *arg);

/*
 * Returns the attribute user.bloscfs.@name of the root of the mount @path,
 * malloc'ed; NULL with errno: no answer, or no such attribute.
 */
char *cli_mounts_ask(const char *path, const char *name);

/*
 * Returns the mount's description of the frame behind its file @fd (O_PATH),
 * with the path of the frame as "in_mount"; free it.  NULL: not a file of a
 * mount.
 */
json_t *cli_mounts_frame(int fd);

#endif
