/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_umount.c - bloscctl umount: unmount, and wait until all is stored */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/daemon_end.h"
#include "cli/exit_codes.h"
#include "cli/message.h"
#include "cli/options.h"

extern char **environ;

/* As poll(2) counts, in milliseconds. */
#define TIMEOUT_MAX (INT32_MAX / 1000)

static const char help[] =
	"Usage: bloscctl umount [OPTION...] MOUNTPOINT...\n"
	"Unmounts each MOUNTPOINT of bloscfs, and returns when all that was "
	"written there is\nstored. umount.bloscfs and umount.fuse.bloscfs are "
	"the same for umount(8).\n\n"
	"  -f, --force      even if bloscfs does not answer; what is not stored "
	"is lost\n"
	"  -l, --lazy       take the name away at once, and do not wait\n"
	"      --timeout=S  wait S seconds at most\n"
	"  -N, --namespace=NS\n"
	"                   in the mount namespace of the process or file NS\n"
	"  -v, --verbose    say what was done\n"
	"  -h, --help       this text\n"
	"  -n, -r, -t TYPE  ignored, for umount(8)\n";

enum { OPT_TIMEOUT = 256 };

static const struct option longopts[] = {
	{"force", no_argument, NULL, 'f'},
	{"lazy", no_argument, NULL, 'l'},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"namespace", required_argument, NULL, 'N'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

struct umount {
	bool force;
	bool lazy;
	uint64_t timeout_s;
	const char *namespace;
};

static int take_option(struct umount *u, int opt)
{
	switch (opt) {
	case 'f':
		u->force = true;
		return 0;
	case 'l':
		u->lazy = true;
		return 0;
	case 'N':
		u->namespace = optarg;
		return 0;
	case 'v':
		cli_message_set_level(B2F_LOG_INFO);
		return 0;
	case OPT_TIMEOUT:
		if (cli_options_size("--timeout", optarg, &u->timeout_s))
			return -EINVAL;
		if (u->timeout_s > TIMEOUT_MAX)
			u->timeout_s = TIMEOUT_MAX;
		return 0;
	case 'n':
	case 'r':
	case 't':
		return 0;
	default:
		return -EINVAL;
	}
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct umount *u)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "flnrvhN:t:", longopts, NULL)) !=
	       -1) {
		if (opt == 'h')
			return cli_command_help(self);
		if (take_option(u, opt))
			return cli_command_usage(self);
	}
	if (optind == argc)
		return cli_command_misuse(self, "a mountpoint is missing");
	return CLI_CONTINUE;
}

/* @name: a number of a process, or the path of a namespace. */
static int enter_namespace(const char *name)
{
	bool is_number = name[strspn(name, "0123456789")] == '\0';
	char path[4096];
	int fd, err;

	snprintf(path, sizeof(path), is_number ? "/proc/%s/ns/mnt" : "%s",
		 name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = setns(fd, CLONE_NEWNS) ? -errno : 0;
	close(fd);
	return err;
}

/* What may unmount for a user; it says itself what is wrong. */
static int run_fusermount(const struct umount *u, const char *path)
{
	char program[] = "fusermount3", option[] = "-u", lazy[] = "-z";
	char dashes[] = "--", *copy = strdup(path);
	char *argv[] = {program, option, u->lazy ? lazy : dashes,
			u->lazy ? dashes : copy, u->lazy ? copy : NULL, NULL};
	int status = 0, err;
	pid_t pid;

	if (!copy)
		return -ENOMEM;
	err = -posix_spawnp(&pid, program, NULL, NULL, argv, environ);
	if (err)
		cli_message_error("fusermount3: %s", strerror(-err));
	while (!err && waitpid(pid, &status, 0) < 0)
		err = errno == EINTR ? 0 : -errno;
	free(copy);
	return err || status ? -EPERM : 0;
}

static int unmount(const struct umount *u, const char *path)
{
	int flags = (u->force ? MNT_FORCE : 0) | (u->lazy ? MNT_DETACH : 0);
	int err;

	if (geteuid() != 0)
		return run_fusermount(u, path);
	if (umount2(path, flags) == 0)
		return 0;
	err = -errno;
	cli_message_error("%s: %s", path, strerror(-err));
	return err;
}

/* Says what is wrong if @err is not 0; returns whether to unmount at all. */
static bool may_unmount(const char *path, int err)
{
	if (err == -EOPNOTSUPP)
		cli_message_error("%s: its bloscfs is not known (xattr=off?), "
				  "so its end is not waited for",
				  path);
	else if (err == -ENOTCONN)
		cli_message_error("%s: its bloscfs has died; what was not "
				  "stored is lost",
				  path);
	else if (err == -ENODATA)
		cli_message_error("%s: no bloscfs is mounted there", path);
	else if (err)
		cli_message_error("%s: %s", path, strerror(-err));
	return !err || err == -EOPNOTSUPP || err == -ENOTCONN;
}

/* Returns 0 or the first error, which has been said. */
static int run_one(const struct umount *u, const char *path)
{
	struct cli_daemon daemon = {.pidfd = -1};
	/* The question would wait for an answer that may not come. */
	int found = u->force || u->lazy ? 0 : cli_daemon_find(path, &daemon);
	int err;

	if (!may_unmount(path, found))
		return found;
	err = unmount(u, path);
	if (!err && daemon.pidfd >= 0) {
		err = cli_daemon_wait(&daemon, (unsigned int)u->timeout_s,
				      path);
		if (err && err != -EIO)
			cli_message_error("%s: bloscfs, process %ld, has not "
					  "ended: %s",
					  path, (long)daemon.pid,
					  strerror(-err));
	}
	cli_daemon_close(&daemon);
	if (!err)
		cli_message_info("%s: unmounted", path);
	return err ? err : found == -ENOTCONN ? found : 0;
}

static int run_umount(const struct cli_command *self, int argc, char **argv)
{
	struct umount u = {0};
	int status = parse(self, argc, argv, &u), err;

	if (status != CLI_CONTINUE)
		return status;
	if (u.namespace) {
		err = enter_namespace(u.namespace);
		if (err) {
			cli_message_error("%s: %s", u.namespace,
					  strerror(-err));
			return CLI_EXIT_FAILURE;
		}
	}
	status = CLI_EXIT_OK;
	for (int i = optind; i < argc; i++)
		if (run_one(&u, argv[i]))
			status = CLI_EXIT_FAILURE;
	return status;
}

const struct cli_command cli_umount_command = {
	.name = "umount",
	.summary = "unmount bloscfs, and wait until all is stored",
	.help = help,
	.run = run_umount,
};
