/* SPDX-License-Identifier: BSD-3-Clause */
/* ready_pipe.c - tells a named pipe what became of the mount (notify_pipe=) */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ready_pipe.h"

/* How often, and for how long, a failure looks for a reader. */
#define LOOK_NS	  20000000
#define LOOKS_MAX 250

int fs_ready_pipe_check(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	return S_ISFIFO(st.st_mode) ? 0 : -ENOSTR;
}

static void tell(int fd, char byte)
{
	/* A reader that has gone does not want to know. */
	(void)!write(fd, &byte, 1);
	close(fd);
}

/* @arg: a descriptor that names the pipe, whatever the working directory. */
static void *wait_for_reader(void *arg)
{
	int fd, name = (int)(intptr_t)arg;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", name);
	do
		fd = open(path, O_WRONLY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	close(name);
	if (fd >= 0)
		tell(fd, 's');
	return NULL;
}

void fs_ready_pipe_mounted(const char *path)
{
	int name = open(path, O_PATH | O_CLOEXEC);
	pthread_t thread;

	if (name < 0)
		return;
	if (pthread_create(&thread, NULL, wait_for_reader,
			   (void *)(intptr_t)name))
		close(name);
	else
		pthread_detach(thread);
}

void fs_ready_pipe_failed(const char *path)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	int fd = -1;

	/* To write to any other file would destroy it. */
	if (fs_ready_pipe_check(path))
		return;
	for (int i = 0; i < LOOKS_MAX && fd < 0; i++) {
		fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 && errno != ENXIO && errno != EINTR)
			return;
		if (fd < 0)
			nanosleep(&pause, NULL);
	}
	if (fd >= 0)
		tell(fd, 'f');
}
