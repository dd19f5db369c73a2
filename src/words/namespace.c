/* SPDX-License-Identifier: BSD-3-Clause */
/* namespace.c - the mount namespace that -N names */
#include "words/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int b2f_namespace_enter(const char *name, char path[B2F_NAMESPACE_PATH])
{
	bool is_number = name[strspn(name, "0123456789")] == '\0';
	int fd, err;

	snprintf(path, B2F_NAMESPACE_PATH,
		 is_number ? "/proc/%s/ns/mnt" : "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = setns(fd, CLONE_NEWNS) ? -errno : 0;
	close(fd);
	return err;
}
