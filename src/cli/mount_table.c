/* SPDX-License-Identifier: BSD-3-Clause */
/* mount_table.c - the kernel's table of mounts */
#include "cli/mount_table.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "\\040" is a blank, and so on. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *c = text; *c; c++) {
		if (c[0] == '\\' && c[1] && c[2] && c[3]) {
			const char digits[] = {c[1], c[2], c[3], '\0'};

			*to++ = (char)strtol(digits, NULL, 8);
			c += 3;
		} else {
			*to++ = *c;
		}
	}
	*to = '\0';
}

static unsigned int number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? (unsigned int)strtoul(at + strlen(key), NULL, 10) : 0;
}

/* Parses a line of proc_pid_mountinfo(5); false: not a FUSE filesystem. */
static bool parse(char *line, struct cli_mount_row *row, char **mountpoint)
{
	char *type = strstr(line, " - ");
	char *field = line, *save = NULL;

	if (!type || (strncmp(type + 3, "fuse ", 5) != 0 &&
		      strncmp(type + 3, "fuse.", 5) != 0))
		return false;
	row->uid = number_behind(type, "user_id=");
	row->gid = number_behind(type, "group_id=");
	for (int i = 0; i < 5; i++, line = NULL) {
		field = strtok_r(line, " ", &save);
		if (!field)
			return false;
		if (i == 2)
			snprintf(row->device, sizeof(row->device), "%s", field);
	}
	unescape(field);
	*mountpoint = field;
	return true;
}

/* The last row of @table on @path; with NULL, any of @row's device. */
static int search(const char *table, const char *path, struct cli_mount_row *row)
{
	FILE *f = fopen(table, "re");
	struct cli_mount_row each;
	char *line = NULL, *mountpoint;
	size_t room = 0;
	int err = -ENODATA;

	if (!f)
		return -errno;
	while (getline(&line, &room, f) > 0) {
		if (!parse(line, &each, &mountpoint) ||
		    (path ? strcmp(mountpoint, path) != 0
			  : strcmp(each.device, row->device) != 0))
			continue;
		*row = each;
		err = 0;
	}
	free(line);
	fclose(f);
	return err;
}

int cli_mount_table_find(const char *path, struct cli_mount_row *out)
{
	char *real = realpath(path, NULL);
	int err = real ? search("/proc/self/mountinfo", real, out) : -errno;

	free(real);
	return err;
}

pid_t cli_mount_table_holder(const struct cli_mount_row *row)
{
	struct cli_mount_row found = *row;
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	char table[sizeof(entry->d_name) + 32];
	pid_t pid = 0;

	while (dir && !pid && (entry = readdir(dir))) {
		if (entry->d_name[strspn(entry->d_name, "0123456789")])
			continue;
		snprintf(table, sizeof(table), "/proc/%s/mountinfo",
			 entry->d_name);
		if (search(table, NULL, &found) == 0)
			pid = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	if (dir)
		closedir(dir);
	return pid;
}
