/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * daemon.h - into the background, without losing an error on the way
 *
 * The child is forked before anything is opened, since threads do not survive
 * a fork.  It keeps the terminal until it is ready; the parent waits for that,
 * or for the child's exit code.
 *
 * Layer: fuse.  Threads: fork from the only one; ready from any.
 */
#ifndef B2F_FUSE_DAEMON_H
#define B2F_FUSE_DAEMON_H

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
	/* Something that was written could not be stored; see the log. */
	FS_EXIT_LOST = 8,
};

struct fs_daemon {
	/* Where the parent listens; -1: there is none. */
	int ready_fd;
};

/*
 * Goes on in a child.  The parent ends when the child is ready (exit code 0),
 * or has ended (its exit code).
 *
 * Returns 0, or the errno of pipe2(2) or fork(2).
 */
B2F_MUST_CHECK
int fs_daemon_fork(struct fs_daemon *daemon);

/*
 * Opens /dev/null as stdin, stdout or stderr where the caller has closed it:
 * messages would go to the next file that is opened, or that file would be lost
 * on the way into the background.
 */
void fs_daemon_fill_standard(void);

/*
 * Leaves terminal, session and working directory, and lets the parent end.
 * Does nothing without fs_daemon_fork(), or the second time.
 */
void fs_daemon_ready(struct fs_daemon *daemon);

/*
 * Tell the service manager that the mount answers, from this very process, and that it
 * is ending.  By the protocol of sd_notify(3): one datagram to the socket that the
 * environment names in NOTIFY_SOCKET.  Nothing happens if it names none.
 */
void fs_daemon_notify_ready(void);
void fs_daemon_notify_stopping(void);

#endif
