/* SPDX-License-Identifier: BSD-3-Clause */
/* asker.c - does the program whose request this thread answers still wait? */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asker.h"
#include "b2frame/patience.h"

/* Enough of /proc/PID/status to see the signals. */
#define STATUS_SIZE 4096

struct asker {
	/* The descriptor of the mount's connection to the kernel. */
	int session_fd;
	/* 0: the kernel asks, or a process that we cannot see. */
	pid_t pid;
};

/* A thread of libfuse answers one request at a time. */
static _Thread_local struct asker current;

/* Does the line @name of @status contain SIGKILL? */
static bool has_kill(const char *status, const char *name)
{
	const char *line = strstr(status, name);
	uint64_t mask = 0;

	return line && sscanf(line + strlen(name), "%" SCNx64, &mask) == 1 &&
	       (mask >> (SIGKILL - 1) & 1);
}

/* A signal that ends a program becomes SIGKILL for all its threads. */
static bool is_killed(pid_t pid)
{
	char path[40], status[STATUS_SIZE];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, status, sizeof(status) - 1);
		close(fd);
	}
	status[n > 0 ? n : 0] = '\0';
	return has_kill(status, "\nSigPnd:") || has_kill(status, "\nShdPnd:");
}

bool fs_asker_is_cut(int fd)
{
	struct pollfd device = {.fd = fd};

	return poll(&device, 1, 0) > 0 && (device.revents & POLLERR);
}

static bool is_unwanted(void *arg)
{
	const struct asker *asker = arg;

	return fs_asker_is_cut(asker->session_fd) ||
	       (asker->pid && is_killed(asker->pid));
}

void fs_asker_note(int fd, pid_t pid)
{
	current = (struct asker){.session_fd = fd, .pid = pid};
	b2f_patience_set(is_unwanted, &current);
}

void fs_asker_forget(void)
{
	b2f_patience_set(NULL, NULL);
}
