/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * daemon_end.h - the process that serves a mount, and how it ends
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_DAEMON_END_H
#define B2F_CLI_DAEMON_END_H

#include <stdbool.h>
#include <sys/types.h>

#include "b2frame/error.h"
#include "cli/mount_table.h"

struct cli_daemon {
	/* The mount that it serves. */
	struct cli_mount_row mount;
	/* It has stored all data that were written before it was found. */
	bool stored;
	pid_t pid;
	/* Descriptor of the process; -1: the process is not known. */
	int pidfd;
};

/*
 * Finds the bloscfs that serves the root of a mount, @path; root asks as the
 * user who mounted it, who may.  Has it store the written data: it may go on
 * after this unmount.
 *
 * Returns 0; -ENODATA (there is no bloscfs mounted on @path); -EOPNOTSUPP (it
 * does not say: xattr=off, or its process is in another PID namespace);
 * -ENOTCONN (it has died); -EIO (its SOURCE does not answer); or the errno of
 * getxattr(2) or pidfd_open(2).
 */
B2F_MUST_CHECK
int cli_daemon_find(const char *path, struct cli_daemon *out);

/*
 * Waits until it has ended, at most @seconds (0: as long as it takes), and says
 * on stderr after a while that it does.  If it goes on for the same mount in
 * another place, that is said instead.
 *
 * Returns 0, -ETIMEDOUT, or -EIO: it has lost something, or was killed, or goes
 * on with something that is not stored, as is said on stderr.  Before Linux 6.15
 * that is known only until its parent, init mostly, has asked; after that 0 means
 * that it has ended.
 */
B2F_MUST_CHECK
int cli_daemon_wait(const struct cli_daemon *daemon, unsigned int seconds,
		    const char *path);

/* NULL or a missing daemon does nothing. */
void cli_daemon_close(struct cli_daemon *daemon);

#endif
