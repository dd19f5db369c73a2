/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.h - questions to mounts of bloscfs, and the end of their daemons
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_MOUNTS_H
#define B2F_CLI_MOUNTS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "b2frame/error.h"

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

/*
 * A row of the kernel's table of mounts.  The table is read because the
 * filesystem itself may not answer.
 */
struct cli_mount_row {
	/* "MAJOR:MINOR", the same for all mounts of the filesystem. */
	char device[32];
	/* The user who mounted it, and may always use it. */
	uid_t uid;
	gid_t gid;
};

/*
 * Finds the topmost FUSE filesystem mounted on @path, without asking it.
 * Returns 0, -ENODATA (there is none), or an errno of realpath(3) or /proc.
 */
B2F_MUST_CHECK
int cli_mounts_find(const char *path, struct cli_mount_row *out);

struct cli_daemon {
	/* The mount. */
	struct cli_mount_row mount;
	/* It has stored all data written before cli_daemon_find(). */
	bool stored;
	pid_t pid;
	/* Descriptor of the process; -1: the process is not known. */
	int pidfd;
};

/*
 * Finds the bloscfs whose mount's root is @path; root asks as the user who
 * mounted it.  Has the daemon store written data, because it may go on after
 * this unmount.
 *
 * Returns 0; -ENODATA (no bloscfs is mounted on @path); -EOPNOTSUPP (the daemon
 * does not answer: xattr=off; or, perhaps @out->stored, its process is in
 * another PID namespace); -ENOTCONN (it has
 * died); -EIO (its SOURCE does not answer); or the errno of getxattr(2) or
 * pidfd_open(2).
 */
B2F_MUST_CHECK
int cli_daemon_find(const char *path, struct cli_daemon *out);

/*
 * Waits until the daemon has ended, at most @seconds (0: no limit), and prints
 * after a while that it waits.  If the daemon goes on for the same mount in
 * another place, prints that and returns.
 *
 * Returns 0, -ETIMEDOUT, or -EIO, after a message: it has lost data, was
 * killed, or goes on with unstored data.  Before Linux 6.15 its status is lost
 * once its parent (usually init) has reaped it; then @daemon->stored decides.
 */
B2F_MUST_CHECK
int cli_daemon_wait(const struct cli_daemon *daemon, unsigned int seconds,
		    const char *path);

/* NULL or a missing daemon does nothing. */
void cli_daemon_close(struct cli_daemon *daemon);

#endif
