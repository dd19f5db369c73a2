/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.c - asks mounts of bloscfs, and waits for the end of a daemon */
#include "cli/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/at.h"
#include "cli/common.h"
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
		/* The daemon died while it was asked. */
		if (errno == ECONNABORTED)
			errno = ENOTCONN;
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

json_t *cli_mounts_frame(const struct cli_at *at)
{
	/* A member of a pack may have no bytes to open, but attributes. */
	int fd = cli_at_open(at, O_PATH);
	char by_fd[40], *text;
	json_t *object;

	if (fd < 0)
		return NULL;
	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	text = get(by_fd, "user.blosc2.info");
	close(fd);
	object = text ? json_loads(text, 0, NULL) : NULL;
	free(text);
	if (object)
		json_object_set(object, "in_mount",
				json_object_get(object, "frame"));
	return object;
}

static unsigned int number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? (unsigned int)strtoul(at + strlen(key), NULL, 10) : 0;
}

/* Parses a line of proc_pid_mountinfo(5); false: not a FUSE filesystem. */
static bool parse(const char *line, struct cli_mount_row *row)
{
	const char *type = strstr(line, " - ");
	/* In other fields, user_id= may be a user's word. */
	const char *options = strrchr(line, ' ');

	if (!type || (strncmp(type + 3, "fuse ", 5) != 0 &&
		      strncmp(type + 3, "fuse.", 5) != 0))
		return false;
	row->uid = number_behind(options, ",user_id=");
	row->gid = number_behind(options, ",group_id=");
	return sscanf(line, "%d %*s %31s", &row->id, row->device) == 2;
}

/* Finds @row's mount in @table; with @other, another one of its filesystem. */
static int search(const char *table, bool other, struct cli_mount_row *row)
{
	FILE *f = fopen(table, "re");
	struct cli_mount_row each;
	char *line = NULL;
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
	free(line);
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
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = root < 0 ? -errno : cli_at_open_below(root, path + 1, O_PATH);

	cli_at_close(root);
	return fd;
}

/* Opens the topmost mount at that place, without asking its filesystem. */
static int open_place(const struct cli_mount *mount)
{
	int fd = openat(mount->dir, mount->name,
			O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Opens the root of @mount, if it is there still. */
static int open_mount(const struct cli_mount *mount)
{
	int fd = open_place(mount);

	if (fd >= 0 && mount_id(fd) != mount->row.id) {
		close(fd);
		fd = -ESTALE;
	}
	return fd;
}

static int find_row(struct cli_mount *mount)
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

int cli_mounts_find(const char *path, struct cli_mount *out)
{
	struct cli_mount mount = {.dir = -1};
	char *real = realpath(path, NULL), *slash;
	int err = real ? 0 : -errno;

	if (err)
		goto out;
	slash = strrchr(real, '/');
	snprintf(mount.name, sizeof(mount.name), "%s", slash + 1);
	slash[slash == real] = '\0';
	mount.dir = open_real(real);
	err = mount.dir < 0 ? mount.dir : find_row(&mount);
	if (err)
		goto out;
	*out = mount;
	mount.dir = -1; /* now the caller's */
out:
	cli_at_close(mount.dir);
	free(real);
	return err;
}

int cli_mounts_unmount(const struct cli_mount *mount, int flags)
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
	struct cli_mount_row found = *(const struct cli_mount_row *)row;
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

static struct cli_answer ask(const char *path, bool stores)
{
	char *pid = cli_mounts_ask(path, "pid");
	struct cli_answer answer = {.pid = pid ? strtol(pid, NULL, 10)
					       : -errno};
	char *version = pid ? cli_mounts_ask(path, "version") : NULL;

	snprintf(answer.version, sizeof(answer.version), "%s",
		 version ? version : "");
	answer.stored = pid && stores && store(path);
	free(pid);
	free(version);
	return answer;
}

/* Without allow_other even root cannot use another user's mount. */
static bool become_owner(const struct cli_mount_row *mount)
{
	return geteuid() == 0 && setgroups(0, NULL) == 0 &&
	       setresgid(mount->gid, mount->gid, mount->gid) == 0 &&
	       setresuid(mount->uid, mount->uid, mount->uid) == 0;
}

struct cli_asker cli_asker_start(const char *path,
				 const struct cli_mount_row *mount)
{
	struct cli_asker asker = {.fd = -1};
	struct cli_answer answer;
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) != 0)
		return asker;
	asker.pid = fork();
	if (asker.pid == 0) {
		/* Their readers wait for us, but not for the mount. */
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		answer = ask(path, mount);
		if (answer.pid == -EACCES && mount && become_owner(mount))
			answer = ask(path, true);
		_exit(write(pipes[1], &answer, sizeof(answer)) < 0);
	}
	close(pipes[1]);
	asker.fd = pipes[0];
	return asker;
}

/* For poll(2); -1: no limit. */
static int left_ms(uint64_t deadline)
{
	uint64_t now = cli_common_now_ms();

	if (deadline == 0)
		return -1;
	if (deadline <= now)
		return 0;
	return deadline - now < INT_MAX ? (int)(deadline - now) : INT_MAX;
}

struct cli_answer cli_asker_read(const struct cli_asker *asker,
				 uint64_t deadline)
{
	struct pollfd p = {.fd = asker->fd, .events = POLLIN};
	struct cli_answer answer = {.pid = -EOPNOTSUPP};
	ssize_t n = 0;

	if (asker->fd < 0)
		return answer;
	if (poll(&p, 1, left_ms(deadline)) == 1)
		n = read(asker->fd, &answer, sizeof(answer));
	else
		answer.pid = -ETIMEDOUT;
	close(asker->fd);
	if (asker->pid > 0)
		kill(asker->pid, SIGKILL);
	/* Without an answer do not wait: some calls cannot be killed. */
	if (asker->pid > 0 && n > 0)
		waitpid(asker->pid, NULL, 0);
	return answer;
}

/* Asks by a descriptor: the owner may not be able to reach the path. */
static struct cli_answer ask_mount(const struct cli_mount *mount,
				   uint64_t deadline)
{
	struct cli_answer answer;
	struct cli_asker asker;
	int fd = open_mount(mount);
	char by_fd[40];

	if (fd < 0)
		return (struct cli_answer){.pid = fd};
	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	asker = cli_asker_start(by_fd, &mount->row);
	answer = cli_asker_read(&asker, deadline);
	close(fd);
	return answer;
}

int cli_daemon_find(const char *path, uint64_t deadline, struct cli_daemon *out)
{
	struct cli_answer answer;
	long fd;
	int err;

	err = cli_mounts_find(path, &out->mount);
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

int cli_daemon_wait(const struct cli_daemon *daemon, uint64_t deadline,
		    const char *path)
{
	/* Look before another filesystem may get the number of this one. */
	bool shared = daemon->shared && find_holder(daemon->mount.row);
	int err = -ETIMEDOUT, left;

	for (int waited = 0; err == -ETIMEDOUT; waited++) {
		left = left_ms(deadline);
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

void cli_daemon_close(struct cli_daemon *daemon)
{
	cli_at_close(daemon->mount.dir);
	cli_at_close(daemon->pidfd);
}
