/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_umount.c - bloscctl umount: unmount, and wait until all is stored */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "b2frame/error.h"
#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/message.h"
#include "cli/mounts.h"
#include "cli/need.h"
#include "words/namespace.h"
#include "words/value.h"

extern char **environ;

struct umount {
	bool force;
	bool lazy;
	int64_t timeout_s;
	const char *namespace;
};

#define FIELD(name) offsetof(struct umount, name)

static int set_timeout(const struct cli_option *option, void *timeout_s,
		       const char *value)
{
	if (b2f_value_whole_seconds(value, "smh", UINT32_MAX, timeout_s))
		return cli_option_refuse(option, value, "a number of seconds");
	return 0;
}

static int ignore(const struct cli_option *option, void *field,
		  const char *value)
{
	(void)option;
	(void)field;
	(void)value;
	return 0;
}

static const struct cli_option table[] = {
	CLI_FLAG("force", 'f', force, "also if bloscfs does not answer;\n"
		"unstored data are lost"),
	CLI_FLAG("lazy", 'l', lazy,
		"detach the mount at once, and do not wait"),
	CLI_OPTION("timeout", 0, "S", set_timeout, FIELD(timeout_s),
		   "wait S seconds at most"),
	CLI_OPTION("namespace", 'N', "NS", cli_option_text, FIELD(namespace),
		   "in the mount namespace of the process or file NS"),
	{.shared = cli_common_quiet},
	CLI_OPTION("verbose", 'v', NULL, cli_common_set_level, 0,
		   "say what was done"),
	{.shared = cli_json_option},
	CLI_OPTION(NULL, 'n', NULL, ignore, 0,
		   "ignored, for umount(8), as -r and -t TYPE are"),
	CLI_OPTION(NULL, 'r', NULL, ignore, 0, NULL),
	CLI_OPTION(NULL, 't', "TYPE", ignore, 0, NULL),
	{0},
};

/* Runs the set-user-id program, which reports its own errors. */
static int run_fusermount(const struct umount *u, const char *path)
{
	char program[] = "fusermount3", option[] = "-u", lazy[] = "-z";
	char dashes[] = "--", *copy = cli_need_copy(path);
	char *argv[] = {program,
			option,
			u->lazy ? lazy : dashes,
			u->lazy ? dashes : copy,
			u->lazy ? copy : NULL,
			NULL};
	int status = 0, err;
	pid_t pid;

	err = cli_message_errno(program, -posix_spawnp(&pid, program, NULL,
						       NULL, argv, environ));
	while (!err && waitpid(pid, &status, 0) < 0)
		err = errno == EINTR ? 0 : -errno;
	free(copy);
	return err || status ? -EPERM : 0;
}

static int unmount(const struct umount *u, const struct cli_mount *mount,
		   const char *path)
{
	int flags = (u->force ? MNT_FORCE : 0) | (u->lazy ? MNT_DETACH : 0);

	if (geteuid() != 0)
		return run_fusermount(u, path);
	return cli_message_errno(path, cli_mounts_unmount(mount, flags));
}

/* Prints the cause of @err if not 0; returns whether to unmount at all. */
static bool may_unmount(const char *path, int err)
{
	static const struct {
		int err;
		bool may;
		const char *why;
	} rows[] = {
		{-EOPNOTSUPP, true,
		 "cannot find its bloscfs (xattr=off?): not waiting for its "
		 "end"},
		{-EIO, true,
		 "bloscfs answers with an I/O error: not waiting for its end"},
		{-EACCES, true,
		 "another user's mount: not waiting for the end of its "
		 "bloscfs"},
		{-ENOTCONN, true,
		 "its bloscfs has died; unstored data are lost"},
		{-ENODATA, false, "no bloscfs is mounted there"},
		{-ETIMEDOUT, false, "bloscfs does not answer"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (err == rows[i].err) {
			cli_message_error("%s: %s", path, rows[i].why);
			return rows[i].may;
		}
	return !cli_message_errno(path, err);
}

/* Returns 0 or the first error, after printing it. */
static int run_one(const struct umount *u, const char *path, bool *unmounted)
{
	struct cli_daemon daemon = CLI_DAEMON_NONE;
	uint64_t deadline = u->timeout_s ? cli_common_now_ms() +
						   (uint64_t)u->timeout_s * 1000
					 : 0;
	/* With -f or -l do not ask the daemon, which may not answer. */
	int found = u->force || u->lazy
			    ? cli_mounts_find(path, &daemon.mount)
			    : cli_daemon_find(path, deadline, &daemon);
	int err;

	if (!may_unmount(path, found)) {
		cli_daemon_close(&daemon);
		return found;
	}
	err = unmount(u, &daemon.mount, path);
	*unmounted = !err;
	if (!err && daemon.pidfd >= 0) {
		err = cli_daemon_wait(&daemon, deadline, path);
		if (err && err != -EIO)
			cli_message_error("%s: bloscfs, process %ld, has not "
					  "ended: %s",
					  path, (long)daemon.pid,
					  b2f_strerror(err));
	}
	cli_daemon_close(&daemon);
	return err ? err : daemon.stored ? 0 : found;
}

static void report(const char *path, bool unmounted, int err)
{
	json_t *object = json_pack("{s:s, s:o*, s:b}", "command", "umount",
				   "mountpoint", cli_json_name(path),
				   "unmounted", unmounted);
	char why[CLI_MESSAGE_MAX];

	cli_message_first(why);
	if (err || why[0])
		json_object_set_new(object, "error", cli_json_name(why));
	if (!err)
		cli_message_info("%s: unmounted", path);
	cli_json_say("", path, object);
}

static int run_umount(const struct cli_command *self, void *options,
		      char **mountpoints)
{
	const struct umount *u = options;
	char path[B2F_NAMESPACE_PATH];
	int status = CLI_EXIT_OK;

	(void)self;
	if (u->namespace &&
	    cli_message_errno(u->namespace,
			      b2f_namespace_enter(u->namespace, path)))
		return CLI_EXIT_FAILURE;
	cli_json_begin(mountpoints[1]);
	for (; *mountpoints; mountpoints++) {
		bool unmounted = false;
		int err;

		cli_message_begin();
		err = run_one(u, *mountpoints, &unmounted);
		report(*mountpoints, unmounted, err);
		if (err)
			status = CLI_EXIT_FAILURE;
	}
	cli_json_end();
	return status;
}

const struct cli_command cli_umount_command = {
	.name = "umount",
	.summary = "unmount bloscfs, and wait until all is stored",
	.operands = "MOUNTPOINT...",
	.help = "Unmounts each MOUNTPOINT of bloscfs, and returns when all "
		"written data are\nstored. umount(8) runs it as "
		"umount.bloscfs and umount.fuse.bloscfs.",
	.options = table,
	.size = sizeof(struct umount),
	.missing = "a mountpoint is missing",
	.run = run_umount,
};
