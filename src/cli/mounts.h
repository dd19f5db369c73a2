/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.h - what the kernel knows of the mounts of bloscfs
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_MOUNTS_H
#define B2F_CLI_MOUNTS_H

#include <jansson.h>

#include "b2frame/error.h"

struct cli_mount {
	/* The paths of the mount command, made absolute. */
	const char *source;
	const char *mountpoint;
	/* "rw,nosuid,..." */
	const char *options;
};

/*
 * Calls @fn with each mount of bloscfs in this mount namespace, in the order in
 * which they were made.  Returns 0, or a negative errno of /proc.
 */
B2F_MUST_CHECK
int cli_mounts_each(void (*fn)(void *arg, const struct cli_mount *mount),
		    void *arg);

/*
 * The attribute user.bloscfs.@name of the root of the mount @path, malloc'ed;
 * NULL, errno set: it does not answer, or not with this.
 */
char *cli_mounts_ask(const char *path, const char *name);

/*
 * The mount's description of the frame behind its file @fd (O_PATH), with the
 * path of the frame as "in_mount"; free it.  NULL: it is no file of a mount.
 */
json_t *cli_mounts_frame(int fd);

#endif
