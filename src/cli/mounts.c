/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.c - asks mounts of bloscfs, and waits for the end of a daemon */
#include "cli/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/at.h"
#include "cli/message.h"
#include "cli/need.h"
#include "programs/directory.h"

#define ATTRIBUTE "user.bloscfs."

/* malloc'ed; NULL with errno: no answer. */
static char *get(const char *path, const char *name)
{
	char *value = cli_need(malloc(XATTR_SIZE_MAX + 1));
	ssize_t n = getxattr(path, name, value, XATTR_SIZE_MAX);

	if (n < 0) {
		free(value);
		return NULL;
	}
	value[n] = '\0';
	return value;
}

char *cli_mounts_ask(const char *path, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), ATTRIBUTE "%s", name);
	return get(path, full);
}

json_t *cli_mounts_frame(int fd)
{
	char by_fd[40], *text;
	json_t *object;

	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	text = get(by_fd, "user.blosc2.info");
	object = text ? json_loads(text, 0, NULL) : NULL;
	free(text);
	if (object)
		json_object_set(object, "in_mount",
				json_object_get(object, "frame"));
	return object;
}

/* "\\040" is a blank, and so on. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *c = text; *c; c++) {
		if (c[0] == '\\' && c[1] && c[2] && c[3]) {
			const char digits[] = {c[1], c[2], c[3], '\0'};

			*to++ = (char)strtol(digits, NULL, 8);
			c += 3;
		} else {
			*to++ = *c;
		}
	}
	*to = '\0';
}

static unsigned int number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? (unsigned int)strtoul(at + strlen(key), NULL, 10) : 0;
}

/* Parses a line of proc_pid_mountinfo(5); false: not a FUSE filesystem. */
static bool parse(char *line, struct cli_mount_row *row, char **mountpoint)
{
	char *type = strstr(line, " - ");
	char *field = line, *save = NULL;

	if (!type || (strncmp(type + 3, "fuse ", 5) != 0 &&
		      strncmp(type + 3, "fuse.", 5) != 0))
		return false;
	row->uid = number_behind(type, "user_id=");
	row->gid = number_behind(type, "group_id=");
	for (int i = 0; i < 5; i++, line = NULL) {
		field = strtok_r(line, " ", &save);
		if (!field)
			return false;
		if (i == 2)
			snprintf(row->device, sizeof(row->device), "%s", field);
	}
	unescape(field);
	*mountpoint = field;
	return true;
}

/* The last row of @table on @path; with NULL, any of @row's device. */
static int search(const char *table, const char *path,
		  struct cli_mount_row *row)
{
	FILE *f = fopen(table, "re");
	struct cli_mount_row each;
	char *line = NULL, *mountpoint;
	size_t room = 0;
	int err = -ENODATA;

	if (!f)
		return -errno;
	while (getline(&line, &room, f) > 0) {
		if (!parse(line, &each, &mountpoint) ||
		    (path ? strcmp(mountpoint, path) != 0
			  : strcmp(each.device, row->device) != 0))
			continue;
		*row = each;
		err = 0;
	}
	free(line);
	fclose(f);
	return err;
}

int cli_mounts_find(const char *path, struct cli_mount_row *out)
{
	char *real = realpath(path, NULL);
	int err = real ? search("/proc/self/mountinfo", real, out) : -errno;

	free(real);
	return err;
}

/* The process @d of /proc, if the filesystem of @row is mounted for it. */
static int see_process(void *row, int dir, const struct dirent *d)
{
	char table[sizeof(d->d_name) + 32];

	(void)dir;
	snprintf(table, sizeof(table), "/proc/%s/mountinfo", d->d_name);
	return !d->d_name[strspn(d->d_name, "0123456789")] &&
			       search(table, NULL, row) == 0
		       ? (int)strtol(d->d_name, NULL, 10)
		       : 0;
}

/*
 * Returns a process in whose mount namespace the filesystem of @row is mounted,
 * among those that may be examined; 0: none.
 */
static pid_t find_holder(struct cli_mount_row row)
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

/* Reads the first line of the file @name of a process; false: there is none. */
static bool read_process(long pid, const char *name, char *text, int size)
{
	char path[40];
	FILE *f;
	bool done;

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	done = fgets(text, size, f);
	fclose(f);
	return done;
}

/*
 * In another PID namespace the pid may belong to another process.  The daemon
 * is called bloscfs or, by mount(8), mount.bloscfs.
 */
static bool is_bloscfs(long pid)
{
	char name[32];

	return read_process(pid, "comm", name, sizeof(name)) &&
	       strstr(name, "blos");
}

/* The answer of a daemon. */
struct answer {
	/* Its pid, or a negative errno. */
	long pid;
	bool stored;
};

/* Stores dirty pages of the kernel, and unstored data of the daemon. */
static bool store(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char writable = '1';
	bool stored;

	/* A read-only bind mount gives EROFS for a daemon that writes, too. */
	stored = fd >= 0 &&
		 ((fgetxattr(fd, ATTRIBUTE "writable", &writable, 1) == 1 &&
		   writable == '0') ||
		  (syncfs(fd) == 0 &&
		   fsetxattr(fd, ATTRIBUTE "sync", "", 0, 0) == 0));
	cli_at_close(fd);
	return stored;
}

static struct answer ask(const char *path)
{
	char *pid = cli_mounts_ask(path, "pid");
	struct answer answer = {.pid = pid ? strtol(pid, NULL, 10) : -errno};

	answer.stored = pid && store(path);
	free(pid);
	return answer;
}

/* Asks in a child that is @mount's owner; returns whether it printed. */
static bool ask_child(const struct cli_mount_row *mount, const char *path,
		      const int pipes[2], struct answer *answer)
{
	pid_t pid = fork();
	ssize_t n;

	if (pid == 0) {
		if (setgroups(0, NULL) == 0 &&
		    setresgid(mount->gid, mount->gid, mount->gid) == 0 &&
		    setresuid(mount->uid, mount->uid, mount->uid) == 0)
			*answer = ask(path);
		n = write(pipes[1], answer, sizeof(*answer));
		_exit(n != sizeof(*answer));
	}
	close(pipes[1]);
	n = pid < 0 ? -1 : read(pipes[0], answer, sizeof(*answer));
	close(pipes[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return n == sizeof(*answer);
}

/*
 * Without allow_other even root cannot use another user's mount.  The owner may
 * not be able to reach @path: the child uses a descriptor.
 */
static struct answer ask_as_owner(const struct cli_mount_row *mount,
				  const char *path)
{
	const struct answer none = {.pid = -EACCES};
	int fd = open(path, O_PATH | O_CLOEXEC), pipes[2];
	struct answer answer = none;
	char by_fd[40];

	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	if (fd >= 0 && pipe2(pipes, O_CLOEXEC) == 0 &&
	    !ask_child(mount, by_fd, pipes, &answer))
		answer = none;
	cli_at_close(fd);
	return answer;
}

int cli_daemon_find(const char *path, struct cli_daemon *out)
{
	struct answer answer;
	long fd;
	int err;

	*out = (struct cli_daemon){.pidfd = -1};
	err = cli_mounts_find(path, &out->mount);
	if (err)
		return err;
	answer = ask(path);
	if (answer.pid == -EACCES && geteuid() == 0)
		answer = ask_as_owner(&out->mount, path);
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
	return 0;
}

/* Returns 0, -ETIMEDOUT or the errno of poll(2). */
static int wait_for(int pidfd, int seconds)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	int n = poll(&p, 1, seconds * 1000);

	if (n < 0)
		return -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

/* The status of a process that its parent, mostly init, has not reaped. */
static bool read_status(pid_t pid, int *status)
{
	char text[1024], *state, *last;

	if (!read_process(pid, "stat", text, sizeof(text)))
		return false;
	state = strrchr(text, ')');
	last = strrchr(text, ' ');
	if (!state || !last || strncmp(state, ") Z ", 4) != 0)
		return false;
	*status = (int)strtol(last, NULL, 10);
	return true;
}

/* The exit status as for waitpid(2); false: it is not known. */
static bool exit_status(const struct cli_daemon *daemon, int *status)
{
	struct pidfd_info info = {.mask = INFO_EXIT};

	if (read_status(daemon->pid, status))
		return true;
	if (ioctl(daemon->pidfd, GET_INFO, &info) || !(info.mask & INFO_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}

static int tell_end(const struct cli_daemon *daemon, const char *path)
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
static bool goes_on(const struct cli_daemon *daemon, const char *path)
{
	pid_t holder = find_holder(daemon->mount);

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

int cli_daemon_wait(const struct cli_daemon *daemon, unsigned int seconds,
		    const char *path)
{
	int err = -ETIMEDOUT;

	for (unsigned int waited = 0;
	     err == -ETIMEDOUT && (seconds == 0 || waited < seconds);
	     waited++) {
		if (waited == TELL_S)
			cli_message_error("%s: waiting for bloscfs, process "
					  "%ld, to store what was written",
					  path, (long)daemon->pid);
		err = wait_for(daemon->pidfd, 1);
		if (err == -ETIMEDOUT && goes_on(daemon, path))
			return daemon->stored ? 0 : -EIO;
	}
	return err ? err : tell_end(daemon, path);
}

void cli_daemon_close(struct cli_daemon *daemon)
{
	if (daemon && daemon->pidfd >= 0)
		close(daemon->pidfd);
}
