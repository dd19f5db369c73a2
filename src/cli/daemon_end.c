/* SPDX-License-Identifier: BSD-3-Clause */
/* daemon_end.c - the process that serves a mount, and how it ends */
#include "cli/daemon_end.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/message.h"

#define PID_NAME   "user.bloscfs.pid"
#define FUSE_MAGIC 0x65735546

/* After so many seconds the user is told what is waited for. */
#define TELL_S 5

/* Linux 6.15 has this; the headers of Debian 12 do not yet. */
struct pidfd_info {
	uint64_t mask;
	uint64_t cgroupid;
	uint32_t ids[11];
	int32_t exit_code;
};
#define GET_INFO  _IOWR(0xff, 11, struct pidfd_info)
#define INFO_EXIT (UINT64_C(1) << 3)

static bool is_fuse(const char *path)
{
	struct statfs st;

	return statfs(path, &st) == 0 && st.f_type == FUSE_MAGIC;
}

/*
 * In another PID namespace the number is that of another process.  The daemon
 * is called bloscfs, or as mount(8) calls it, mount.bloscfs.
 */
static bool is_bloscfs(long pid)
{
	char path[40], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	fclose(f);
	return strstr(name, "blos");
}

/* The error of getxattr(2) as that of cli_daemon_find(). */
static int why_no_pid(const char *path, int err)
{
	if (err == EOPNOTSUPP && !is_fuse(path))
		return -ENODATA;
	return -err;
}

int cli_daemon_find(const char *path, struct cli_daemon *out)
{
	char text[24] = "";
	ssize_t n = getxattr(path, PID_NAME, text, sizeof(text) - 1);
	long pid, fd;

	*out = (struct cli_daemon){.pidfd = -1};
	if (n < 0)
		return why_no_pid(path, errno);
	pid = strtol(text, NULL, 10);
	if (!is_fuse(path) || pid <= 0)
		return -ENODATA;
	fd = syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (fd < 0)
		return errno == ESRCH ? -EOPNOTSUPP : -errno;
	/* Looked at behind that, so that it is the same process. */
	if (!is_bloscfs(pid)) {
		close((int)fd);
		return -EOPNOTSUPP;
	}
	*out = (struct cli_daemon){.pid = (pid_t)pid, .pidfd = (int)fd};
	return 0;
}

/* Returns 0, -ETIMEDOUT or the errno of poll(2). */
static int wait_for(int pidfd, int seconds)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	int n = poll(&p, 1, seconds < 0 ? -1 : seconds * 1000);

	if (n < 0)
		return -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

/* Of a process whose parent, init mostly, has not asked for it yet. */
static bool read_status(pid_t pid, int *status)
{
	char path[40], text[1024] = "", *state, *last;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	state = strrchr(text, ')');
	last = strrchr(text, ' ');
	if (!state || !last || strncmp(state, ") Z ", 4) != 0)
		return false;
	*status = (int)strtol(last, NULL, 10);
	return true;
}

/* The status that waitpid(2) gives the parent; 0 if it is not known. */
static int exit_status(const struct cli_daemon *daemon)
{
	struct pidfd_info info = {.mask = INFO_EXIT};
	int status;

	if (read_status(daemon->pid, &status))
		return status;
	if (ioctl(daemon->pidfd, GET_INFO, &info) || !(info.mask & INFO_EXIT))
		return 0;
	return info.exit_code;
}

static int tell_end(const struct cli_daemon *daemon, const char *path)
{
	int status = exit_status(daemon);

	if (status == 0)
		return 0;
	if (WIFSIGNALED(status))
		cli_message_error("%s: bloscfs, process %ld, was killed by "
				  "signal %d",
				  path, (long)daemon->pid, WTERMSIG(status));
	else
		cli_message_error("%s: bloscfs, process %ld, could not store "
				  "all: it ended with status %d, its log "
				  "tells why",
				  path, (long)daemon->pid, WEXITSTATUS(status));
	return -EIO;
}

int cli_daemon_wait(const struct cli_daemon *daemon, unsigned int seconds,
		    const char *path)
{
	bool is_short = seconds > 0 && seconds <= TELL_S;
	int err = wait_for(daemon->pidfd, is_short ? (int)seconds : TELL_S);

	if (err == -ETIMEDOUT && !is_short) {
		cli_message_error("%s: waiting for bloscfs, process %ld, to "
				  "store what was written",
				  path, (long)daemon->pid);
		err = wait_for(daemon->pidfd,
			       seconds ? (int)(seconds - TELL_S) : -1);
	}
	return err ? err : tell_end(daemon, path);
}

void cli_daemon_close(struct cli_daemon *daemon)
{
	if (daemon && daemon->pidfd >= 0)
		close(daemon->pidfd);
}
