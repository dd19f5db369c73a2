/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.h - questions to mounts of bloscfs, and the end of their daemons
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_MOUNTS_H
#define B2F_CLI_MOUNTS_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "b2frame/error.h"
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

/*
 * A row of the kernel's table of mounts.  The table is read because the
 * filesystem itself may not answer.
 */
struct cli_mount_row {
	/* No other mount has it, in any namespace, while this one lasts. */
	int id;
	/*
	 * "MAJOR:MINOR", the same for all mounts of the filesystem.  After the
	 * last unmount the kernel gives it to another filesystem.
	 */
	char device[32];
	/* The user who mounted it, and may always use it. */
	uid_t uid;
	gid_t gid;
};

/*
 * A mount, and the directory that holds its mountpoint: other users may rename
 * the directories of its path, and put links in their places.
 */
struct cli_mount {
	struct cli_mount_row row;
	int dir;
	char name[NAME_MAX + 1];
};

/*
 * Finds the topmost FUSE filesystem mounted on @path, without asking it; close
 * @out->dir.  Returns 0, -ENODATA (there is none), or an errno of realpath(3),
 * openat(2) (-ELOOP: a link has come into @path meanwhile) or /proc.
 */
B2F_MUST_CHECK
int cli_mounts_find(const char *path, struct cli_mount *out);

/*
 * Unmounts @mount and nothing else, with @flags of umount2(2).  Returns 0,
 * -ESTALE (something else is mounted there now) or an errno of openat(2) or
 * umount2(2).
 */
B2F_MUST_CHECK
int cli_mounts_unmount(const struct cli_mount *mount, int flags);

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

/*
 * Starts to ask the mount @path.  With @mount, its row, has the daemon store
 * written data, and root asks as the user who mounted it.
 */
struct cli_asker cli_asker_start(const char *path,
				 const struct cli_mount_row *mount);

/*
 * Reads the answer, and ends @asker.  @deadline is of cli_common_now_ms(); 0:
 * no limit.  Errors: -ETIMEDOUT; -EOPNOTSUPP (no process could ask), or the
 * errno of getxattr(2).
 */
struct cli_answer cli_asker_read(const struct cli_asker *asker,
				 uint64_t deadline);

struct cli_daemon {
	struct cli_mount mount;
	/* It has stored all data written before cli_daemon_find(). */
	bool stored;
	/* It was mounted in another place, too, in cli_daemon_find(). */
	bool shared;
	pid_t pid;
	/* Descriptor of the process; -1: the process is not known. */
	int pidfd;
};

#define CLI_DAEMON_NONE                                                        \
	{                                                                      \
		.mount.dir = -1, .pidfd = -1                                   \
	}

/*
 * Finds the bloscfs whose mount's root is @path; root asks as the user who
 * mounted it.  Has the daemon store written data, because it may go on after
 * this unmount.  @out is CLI_DAEMON_NONE before; after an error, too, it
 * has all that was found.
 *
 * Returns 0; what cli_mounts_find() returns; -EOPNOTSUPP (the daemon does not
 * answer: xattr=off; or, perhaps @out->stored, its process is in another PID
 * namespace); -ETIMEDOUT (no answer before @deadline); -ENOTCONN (it has died);
 * -EIO (its SOURCE does not answer); or the errno of getxattr(2) or
 * pidfd_open(2).
 */
B2F_MUST_CHECK
int cli_daemon_find(const char *path, uint64_t deadline,
		    struct cli_daemon *out);

/*
 * Waits until the daemon has ended, or @deadline (0: no limit), and prints
 * after a while that it waits.  If the daemon goes on for the same mount in
 * another place, prints that and returns.
 *
 * Returns 0, -ETIMEDOUT, or -EIO, after a message: it has lost data, was
 * killed, or goes on with unstored data.  Before Linux 6.15 its status is lost
 * once its parent (usually init) has reaped it; then @daemon->stored decides.
 */
B2F_MUST_CHECK
int cli_daemon_wait(const struct cli_daemon *daemon, uint64_t deadline,
		    const char *path);

void cli_daemon_close(struct cli_daemon *daemon);

#endif
