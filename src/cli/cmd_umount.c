/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_umount.c - bloscctl umount: unmount, and wait until all is stored */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "b2frame/error.h"
#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/message.h"
#include "cli/mounts.h"
#include "cli/need.h"
#include "programs/directory.h"
#include "words/namespace.h"
#include "words/value.h"

extern char **environ;

/*
 * A row of the kernel's table of mounts.  The table is read because the
 * filesystem itself may not answer.
 */
struct row {
	/* No other mount has it, in any namespace, while this one lasts. */
	int id;
	/*
	 * "MAJOR:MINOR", the same for all mounts of the filesystem.  After the
	 * last unmount the kernel gives it to another filesystem.
	 */
	char device[32];
	struct cli_mounter user;
};

/*
 * A mount, and the directory that holds its mountpoint: other users may rename
 * the directories of its path, and put links in their places.
 */
struct mount {
	struct row row;
	int dir;
	char name[NAME_MAX + 1];
};

struct daemon {
	struct mount mount;
	/* It has stored all data written before find_daemon(). */
	bool stored;
	/* It was mounted in another place, too, in find_daemon(). */
	bool shared;
	pid_t pid;
	/* Descriptor of the process; -1: the process is not known. */
	int pidfd;
};

static unsigned int number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? (unsigned int)strtoul(at + strlen(key), NULL, 10) : 0;
}

/* Parses a line of proc_pid_mountinfo(5); false: not a FUSE filesystem. */
static bool parse(const char *line, struct row *row)
{
	const char *type = strstr(line, " - ");
	/* In other fields, user_id= may be a user's word. */
	const char *options = strrchr(line, ' ');

	if (!type || (strncmp(type + 3, "fuse ", 5) != 0 &&
		      strncmp(type + 3, "fuse.", 5) != 0))
		return false;
	row->user.uid = number_behind(options, ",user_id=");
	row->user.gid = number_behind(options, ",group_id=");
	return sscanf(line, "%d %*s %31s", &row->id, row->device) == 2;
}

/* Finds @row's mount in @table; with @other, another one of its filesystem. */
static int search(const char *table, bool other, struct row *row)
{
	FILE *f = fopen(table, "re");
	struct row each;
	B2F_OWN char *line = NULL;
	size_t room = 0;
	int err = -ENODATA;

	if (!f)
		return -errno;
	while (err && getline(&line, &room, f) > 0) {
		if (!parse(line, &each) || (each.id == row->id) == other ||
		    (other && strcmp(each.device, row->device) != 0))
			continue;
		*row = each;
		err = 0;
	}
	fclose(f);
	return err;
}

/* Reads the beginning of a file of /proc; false: there is none. */
B2F_PRINTF(3, 4)
static bool read_proc(char *text, size_t size, const char *format, ...)
{
	char path[64];
	va_list args;
	size_t n;
	FILE *f;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, size - 1, f);
	text[n] = '\0';
	fclose(f);
	return n > 0;
}

/* The mount that @fd is in; 0: not known.  Asks no filesystem. */
static int mount_id(int fd)
{
	char text[256];

	return read_proc(text, sizeof(text), "/proc/self/fdinfo/%d", fd)
		       ? (int)number_behind(text, "mnt_id:")
		       : 0;
}

/*
 * Opens the directory @path of realpath(3).  Another user may have put a link
 * there meanwhile: then it fails.
 */
static int open_real(const char *path)
{
	CLI_OWN_FD int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : cli_at_open_below(root, path + 1, O_PATH);
}

/* Opens the topmost mount at that place, without asking its filesystem. */
static int open_place(const struct mount *mount)
{
	int fd = openat(mount->dir, mount->name,
			O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Opens the root of @mount, if it is there still. */
static int open_mount(const struct mount *mount)
{
	int fd = open_place(mount);

	if (fd >= 0 && mount_id(fd) != mount->row.id) {
		close(fd);
		fd = -ESTALE;
	}
	return fd;
}

static int find_row(struct mount *mount)
{
	int fd = open_place(mount);

	if (fd < 0)
		return fd;
	mount->row.id = mount_id(fd);
	close(fd);
	if (mount->row.id == mount_id(mount->dir))
		return -ENODATA;
	return search("/proc/self/mountinfo", false, &mount->row);
}

/*
 * Finds the topmost FUSE filesystem mounted on @path, without asking it; close
 * @out->dir.  Returns 0, -ENODATA (there is none), or an errno of realpath(3),
 * openat(2) (-ELOOP: a link has come into @path meanwhile) or /proc.
 */
static int find_mount(const char *path, struct mount *out)
{
	struct mount mount = {.dir = -1};
	B2F_OWN char *real = realpath(path, NULL);
	char *slash;
	int err;

	if (!real)
		return -errno;
	slash = strrchr(real, '/');
	snprintf(mount.name, sizeof(mount.name), "%s", slash + 1);
	slash[slash == real] = '\0';
	mount.dir = open_real(real);
	err = mount.dir < 0 ? mount.dir : find_row(&mount);
	if (err)
		cli_at_close(mount.dir);
	else
		*out = mount;
	return err;
}

/*
 * Unmounts @mount and nothing else, with @flags of umount2(2).  Returns 0,
 * -ESTALE (something else is mounted there now) or an errno of openat(2) or
 * umount2(2).
 */
static int unmount_root(const struct mount *mount, int flags)
{
	char path[sizeof(mount->name) + 40];
	int fd = open_mount(mount);

	if (fd < 0)
		return fd;
	close(fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", mount->dir,
		 mount->name);
	return umount2(path, flags | UMOUNT_NOFOLLOW) ? -errno : 0;
}

/* The process @d of /proc, if it sees another mount of @row's filesystem. */
static int see_process(void *row, int dir, const struct dirent *d)
{
	struct row found = *(const struct row *)row;
	char table[sizeof(d->d_name) + 32];

	(void)dir;
	snprintf(table, sizeof(table), "/proc/%s/mountinfo", d->d_name);
	return !d->d_name[strspn(d->d_name, "0123456789")] &&
			       search(table, true, &found) == 0
		       ? (int)strtol(d->d_name, NULL, 10)
		       : 0;
}

/*
 * Returns a process for which the filesystem of @row is mounted in another
 * place, among those that may be examined; 0: none.
 */
static pid_t find_holder(struct row row)
{
	int pid = b2f_directory_each(AT_FDCWD, "/proc", see_process, &row);

	return pid > 0 ? pid : 0;
}

/* After so many seconds a message names the reason for waiting. */
#define TELL_S 5

/* Since Linux 6.15; missing in the headers of Debian 12. */
struct pidfd_info {
	uint64_t mask;
	uint64_t cgroupid;
	uint32_t ids[11];
	int32_t exit_code;
};
#define GET_INFO  _IOWR(0xff, 11, struct pidfd_info)
#define INFO_EXIT (UINT64_C(1) << 3)

/*
 * In another PID namespace the pid may belong to another process.  The daemon
 * is called bloscfs or, by mount(8), mount.bloscfs.
 */
static bool is_bloscfs(long pid)
{
	char name[32];

	return read_proc(name, sizeof(name), "/proc/%ld/comm", pid) &&
	       strstr(name, "blos");
}

/* Asks by a descriptor: the owner may not be able to reach the path. */
static struct cli_answer ask_mount(const struct mount *mount, uint64_t deadline)
{
	struct cli_asker asker;
	CLI_OWN_FD int fd = open_mount(mount);
	char by_fd[40];

	if (fd < 0)
		return (struct cli_answer){.pid = fd};
	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	asker = cli_asker_start(by_fd, &mount->row.user);
	return cli_asker_read(&asker, deadline);
}

/*
 * Finds the bloscfs whose mount's root is @path; root asks as the user who
 * mounted it.  Has the daemon store written data, because it may go on after
 * this unmount.  After an error, too, @out has all that was found.
 *
 * Returns 0; what find_mount() returns; -EOPNOTSUPP (the daemon does not
 * answer: xattr=off; or, perhaps @out->stored, its process is in another PID
 * namespace); -ETIMEDOUT (no answer before @deadline); -ENOTCONN (it has died);
 * -EIO (its SOURCE does not answer); or the errno of getxattr(2) or
 * pidfd_open(2).
 */
static int find_daemon(const char *path, uint64_t deadline, struct daemon *out)
{
	struct cli_answer answer;
	long fd;
	int err;

	err = find_mount(path, &out->mount);
	if (err)
		return err;
	answer = ask_mount(&out->mount, deadline);
	if (answer.pid <= 0)
		return answer.pid ? (int)answer.pid : -ENODATA;
	out->stored = answer.stored;
	fd = syscall(SYS_pidfd_open, (pid_t)answer.pid, 0);
	if (fd < 0)
		return errno == ESRCH ? -EOPNOTSUPP : -errno;
	/* Check after pidfd_open(): now it is surely the same process. */
	if (!is_bloscfs(answer.pid)) {
		close((int)fd);
		return -EOPNOTSUPP;
	}
	out->pid = (pid_t)answer.pid;
	out->pidfd = (int)fd;
	out->shared = find_holder(out->mount.row);
	return 0;
}

/* Returns 0, -ETIMEDOUT or the errno of poll(2). */
static int wait_for(int pidfd, int ms)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	int n = poll(&p, 1, ms);

	if (n < 0)
		return -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

/* The status of a process that its parent, mostly init, has not reaped. */
static bool read_status(pid_t pid, int *status)
{
	char text[1024], *state, *last;

	if (!read_proc(text, sizeof(text), "/proc/%ld/stat", (long)pid))
		return false;
	state = strrchr(text, ')');
	last = strrchr(text, ' ');
	if (!state || !last || strncmp(state, ") Z ", 4) != 0)
		return false;
	*status = (int)strtol(last, NULL, 10);
	return true;
}

/* The exit status as for waitpid(2); false: it is not known. */
static bool exit_status(const struct daemon *daemon, int *status)
{
	struct pidfd_info info = {.mask = INFO_EXIT};

	if (read_status(daemon->pid, status))
		return true;
	if (ioctl(daemon->pidfd, GET_INFO, &info) || !(info.mask & INFO_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}

static int tell_end(const struct daemon *daemon, const char *path)
{
	long pid = (long)daemon->pid;
	int status = 0;
	bool known = exit_status(daemon, &status);

	if (known ? status == 0 : daemon->stored)
		return 0;
	if (!known)
		cli_message_error("%s: bloscfs, process %ld, may not have "
				  "stored all data; see its log",
				  path, pid);
	else if (WIFSIGNALED(status))
		cli_message_error("%s: bloscfs, process %ld, was killed by "
				  "signal %d",
				  path, pid, WTERMSIG(status));
	else
		cli_message_error("%s: bloscfs, process %ld, could not store "
				  "all data: it ended with status %d; see its "
				  "log",
				  path, pid, WEXITSTATUS(status));
	return -EIO;
}

/* Is it also mounted elsewhere, so that the daemon goes on? */
static bool goes_on(const struct daemon *daemon, const char *path)
{
	pid_t holder = find_holder(daemon->mount.row);

	if (holder)
		cli_message_error("%s: unmounted, but it is mounted in another "
				  "place, too, which process %ld can see; "
				  "bloscfs, process %ld, goes on for that, %s",
				  path, (long)holder, (long)daemon->pid,
				  daemon->stored
					  ? "and has stored what was written"
					  : "and ends when all is stored");
	return holder != 0;
}

/*
 * Waits until the daemon has ended, or @deadline (0: no limit), and prints
 * after a while that it waits.  If the daemon goes on for the same mount in
 * another place, prints that and returns.
 *
 * Returns 0, -ETIMEDOUT, or -EIO, after a message: it has lost data, was
 * killed, or goes on with unstored data.  Before Linux 6.15 its status is lost
 * once its parent (usually init) has reaped it; then @daemon->stored decides.
 */
static int wait_end(const struct daemon *daemon, uint64_t deadline,
		    const char *path)
{
	/* Look before another filesystem may get the number of this one. */
	bool shared = daemon->shared && find_holder(daemon->mount.row);
	int err = -ETIMEDOUT, left;

	for (int waited = 0; err == -ETIMEDOUT; waited++) {
		left = cli_common_left_ms(deadline);
		if (left == 0)
			return err;
		if (waited == TELL_S)
			cli_message_error("%s: waiting for bloscfs, process "
					  "%ld, to store what was written",
					  path, (long)daemon->pid);
		err = wait_for(daemon->pidfd,
			       left > 0 && left < 1000 ? left : 1000);
		if (err == -ETIMEDOUT && shared && goes_on(daemon, path))
			return daemon->stored ? 0 : -EIO;
	}
	return err ? err : tell_end(daemon, path);
}

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
	B2F_OWN char *copy = cli_need_copy(path);
	char dashes[] = "--";
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
	return err || status ? -EPERM : 0;
}

static int unmount(const struct umount *u, const struct mount *mount,
		   const char *path)
{
	int flags = (u->force ? MNT_FORCE : 0) | (u->lazy ? MNT_DETACH : 0);

	if (geteuid() != 0)
		return run_fusermount(u, path);
	return cli_message_errno(path, unmount_root(mount, flags));
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
	struct daemon daemon = {.mount.dir = -1, .pidfd = -1};
	uint64_t deadline = u->timeout_s ? cli_common_now_ms() +
						   (uint64_t)u->timeout_s * 1000
					 : 0;
	/* With -f or -l do not ask the daemon, which may not answer. */
	int found = u->force || u->lazy ? find_mount(path, &daemon.mount)
					: find_daemon(path, deadline, &daemon);
	int err;

	err = may_unmount(path, found) ? unmount(u, &daemon.mount, path)
				       : found;
	*unmounted = !err;
	if (!err && daemon.pidfd >= 0) {
		err = wait_end(&daemon, deadline, path);
		if (err && err != -EIO)
			cli_message_error("%s: bloscfs, process %ld, has not "
					  "ended: %s",
					  path, (long)daemon.pid,
					  b2f_strerror(err));
	}
	cli_at_close(daemon.mount.dir);
	cli_at_close(daemon.pidfd);
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
