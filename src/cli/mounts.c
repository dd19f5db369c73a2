/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.c - what the kernel knows of the mounts of bloscfs */
#include "cli/mounts.h"

#include <errno.h>
#include <linux/limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#define TABLE	  "/proc/self/mounts"
#define TYPE	  "fuse.bloscfs"
#define ATTRIBUTE "user.bloscfs."

int cli_mounts_each(void (*fn)(void *arg, const struct cli_mount *mount),
		    void *arg)
{
	FILE *table = setmntent(TABLE, "re");
	const struct mntent *entry;

	if (!table)
		return -errno;
	while ((entry = getmntent(table))) {
		const struct cli_mount mount = {.source = entry->mnt_fsname,
						.mountpoint = entry->mnt_dir,
						.options = entry->mnt_opts};

		if (strcmp(entry->mnt_type, TYPE) == 0)
			fn(arg, &mount);
	}
	endmntent(table);
	return 0;
}

char *cli_mounts_ask(const char *path, const char *name)
{
	char full[64], *value = malloc(XATTR_SIZE_MAX + 1);
	ssize_t n = -1;

	snprintf(full, sizeof(full), ATTRIBUTE "%s", name);
	if (value)
		n = getxattr(path, full, value, XATTR_SIZE_MAX);
	if (n < 0) {
		free(value);
		return NULL;
	}
	value[n] = '\0';
	return value;
}
