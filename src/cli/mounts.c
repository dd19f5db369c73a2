/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.c - questions to mounts of bloscfs */
#include "cli/mounts.h"

#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>

#define ATTRIBUTE "user.bloscfs."

/* malloc'ed; NULL with errno: no answer. */
static char *get(const char *path, const char *name)
{
	char *value = malloc(XATTR_SIZE_MAX + 1);
	ssize_t n = value ? getxattr(path, name, value, XATTR_SIZE_MAX) : -1;

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
