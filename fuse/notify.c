/* SPDX-License-Identifier: BSD-3-Clause */
/* notify.c - tells the service manager what became of the mount */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"

/* A manager that has gone, or does not listen, is no concern of the mount. */
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

static void notify(const char *message)
{
	const char *path = getenv("NOTIFY_SOCKET");

	if (path)
		send_to(path, message);
}

void fs_notify_ready(void)
{
	char message[64];

	snprintf(message, sizeof(message), "READY=1\nMAINPID=%ld\n",
		 (long)getpid());
	notify(message);
}

void fs_notify_stopping(void)
{
	notify("STOPPING=1\n");
}
