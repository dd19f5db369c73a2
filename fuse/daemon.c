/* SPDX-License-Identifier: BSD-3-Clause */
/* daemon.c - goes into the background without losing an error */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"

/* The parent waits for one byte of the child, or for its end. */
static int wait_for_child(int fd, pid_t child)
{
	int status;
	ssize_t n;
	char byte;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return FS_EXIT_OK;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return FS_EXIT_DAEMON;
	return WIFEXITED(status) ? WEXITSTATUS(status) : FS_EXIT_DAEMON;
}

/*
 * Closes the descriptors that the caller left open: otherwise a lock, a pipe or
 * a filesystem would stay in use as long as the mount.
 */
static void close_inherited(int keep)
{
	/*
	 * The daemon has opened nothing yet.  Kernels before 5.9 do not know
	 * close_range(2).
	 */
	if (keep > STDERR_FILENO + 1)
		(void)!close_range(STDERR_FILENO + 1, (unsigned int)keep - 1,
				   0);
	(void)!close_range((unsigned int)keep + 1, ~0U, 0);
}

void fs_daemon_fill_standard(void)
{
	/* The kernel gives out the lowest free descriptor. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", O_RDWR);
}

int fs_daemon_fork(struct fs_daemon *daemon)
{
	int fds[2], err;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (child > 0) {
		close(fds[1]);
		/* _exit(), because the child will write the buffered output. */
		_exit(wait_for_child(fds[0], child));
	}
	close(fds[0]);
	daemon->ready_fd = fds[1];
	close_inherited(fds[1]);
	return 0;
}

/* Points stdin, stdout and stderr to /dev/null; if that fails, they stay. */
static void leave_terminal(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(fd, i);
	if (fd > STDERR_FILENO)
		close(fd);
}

void fs_daemon_ready(struct fs_daemon *daemon)
{
	ssize_t n;

	if (daemon->ready_fd < 0)
		return;
	/* The child leads no process group, so setsid() cannot fail. */
	setsid();
	if (chdir("/"))
		_exit(FS_EXIT_DAEMON);
	leave_terminal();
	do
		n = write(daemon->ready_fd, "r", 1);
	while (n < 0 && errno == EINTR);
	close(daemon->ready_fd);
	daemon->ready_fd = -1;
}

/* If the service manager has gone, the mount goes on. */
static void send_to(const char *path, const char *message)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t n = strlen(path);
	socklen_t size;
	int fd;

	if (n >= sizeof(address.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(address.sun_path, path, n);
	/* An abstract socket: its name begins with a zero. */
	if (*path == '@')
		address.sun_path[0] = '\0';
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, message, strlen(message), MSG_NOSIGNAL | MSG_DONTWAIT,
		      (struct sockaddr *)&address, size);
	close(fd);
}

void fs_daemon_notify(bool is_ready)
{
	const char *path = getenv("NOTIFY_SOCKET");
	char message[64] = "STOPPING=1\n";

	if (is_ready)
		snprintf(message, sizeof(message), "READY=1\nMAINPID=%ld\n",
			 (long)getpid());
	if (path)
		send_to(path, message);
}
