/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.c - asks mounts of bloscfs */
#include "cli/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/at.h"
#include "cli/common.h"
#include "cli/need.h"

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
	CLI_OWN_FD int fd = cli_at_open(at, O_PATH);
	B2F_OWN char *text = NULL;
	char by_fd[40];
	json_t *object;

	if (fd < 0)
		return NULL;
	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	text = get(by_fd, "user.blosc2.info");
	object = text ? json_loads(text, 0, NULL) : NULL;
	if (object)
		json_object_set(object, "in_mount",
				json_object_get(object, "frame"));
	return object;
}

/* Stores dirty pages of the kernel, and unstored data of the daemon. */
static bool store(const char *path)
{
	CLI_OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	char writable = '1';

	/* A read-only bind mount gives EROFS for a daemon that writes, too. */
	return fd >= 0 &&
	       ((fgetxattr(fd, ATTRIBUTE "writable", &writable, 1) == 1 &&
		 writable == '0') ||
		(syncfs(fd) == 0 &&
		 fsetxattr(fd, ATTRIBUTE "sync", "", 0, 0) == 0));
}

static struct cli_answer ask(const char *path, bool stores)
{
	B2F_OWN char *pid = cli_mounts_ask(path, "pid");
	struct cli_answer answer = {.pid = pid ? strtol(pid, NULL, 10)
					       : -errno};
	B2F_OWN char *version = pid ? cli_mounts_ask(path, "version") : NULL;

	snprintf(answer.version, sizeof(answer.version), "%s",
		 version ? version : "");
	answer.stored = pid && stores && store(path);
	return answer;
}

/* Without allow_other even root cannot use another user's mount. */
static bool become_owner(const struct cli_mounter *user)
{
	return geteuid() == 0 && setgroups(0, NULL) == 0 &&
	       setresgid(user->gid, user->gid, user->gid) == 0 &&
	       setresuid(user->uid, user->uid, user->uid) == 0;
}

struct cli_asker cli_asker_start(const char *path,
				 const struct cli_mounter *user)
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
		answer = ask(path, user);
		if (answer.pid == -EACCES && user && become_owner(user))
			answer = ask(path, true);
		_exit(write(pipes[1], &answer, sizeof(answer)) < 0);
	}
	close(pipes[1]);
	asker.fd = pipes[0];
	return asker;
}

struct cli_answer cli_asker_read(const struct cli_asker *asker,
				 uint64_t deadline)
{
	struct pollfd p = {.fd = asker->fd, .events = POLLIN};
	struct cli_answer answer = {.pid = -EOPNOTSUPP};
	ssize_t n = 0;

	if (asker->fd < 0)
		return answer;
	if (poll(&p, 1, cli_common_left_ms(deadline)) == 1)
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
