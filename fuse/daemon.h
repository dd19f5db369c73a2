/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * daemon.h - goes into the background without losing an error
 *
 * The child is forked before anything is opened, since threads do not survive
 * a fork.  It keeps the terminal until it is ready; the parent waits for that,
 * or for the child's exit code.
 *
 * Layer: fuse.  Threads: fork while there is one thread; ready from any.
 */
#ifndef B2F_FUSE_DAEMON_H
#define B2F_FUSE_DAEMON_H

#include <stdbool.h>

#include "b2frame/error.h"

/*
 * The exit status of bloscfs.  Scripts rely on these numbers: a retired number
 * is never used again.
 */
enum fs_exit {
	FS_EXIT_OK = 0,
	/* A wrong option or operand. */
	FS_EXIT_USAGE = 1,
	/* MOUNTPOINT is missing, of the wrong kind, or not accessible. */
	FS_EXIT_MOUNTPOINT = 2,
	/* SOURCE is missing, no frame and no directory, or cannot be read. */
	FS_EXIT_SOURCE = 3,
	/* The kernel, or fusermount3, did not mount. */
	FS_EXIT_MOUNT = 4,
	/* No background process, log or memory to run in. */
	FS_EXIT_DAEMON = 5,
	FS_EXIT_SIGNALS = 6,
	/* The connection to the kernel broke while mounted. */
	FS_EXIT_LOOP = 7,
	/* Some written data could not be stored; the log says which. */
	FS_EXIT_LOST = 8,
};

struct fs_daemon {
	/* The pipe to the parent; -1: there is no parent. */
	int ready_fd;
};

/*
 * Continues in a child.  The parent exits when the child is ready (with 0), or
 * has exited (with the child's exit status).
 *
 * Returns 0, or the errno of pipe2(2) or fork(2).
 */
B2F_MUST_CHECK
int fs_daemon_fork(struct fs_daemon *daemon);

/*
 * Opens /dev/null for each of stdin, stdout and stderr that is closed.
 * Otherwise the next file opened would get that number, and receive messages,
 * or be closed on the way into the background.
 */
void fs_daemon_fill_standard(void);

/*
 * Leaves terminal, session and working directory, and lets the parent exit.
 * Does nothing without fs_daemon_fork(), or the second time.
 */
void fs_daemon_ready(struct fs_daemon *daemon);

/*
 * Tells the service manager that the mount answers requests, or is ending, as
 * in sd_notify(3): one datagram to the socket that NOTIFY_SOCKET names.  Does
 * nothing without NOTIFY_SOCKET.
 */
void fs_daemon_notify(bool is_ready);

#endif
