/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.h - questions to mounts of bloscfs
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_MOUNTS_H
#define B2F_CLI_MOUNTS_H

#include <jansson.h>

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
