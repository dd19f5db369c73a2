/* SPDX-License-Identifier: BSD-3-Clause */
/* files_list.c - the files of a frame in its directory */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "b2frame/names.h"
#include "store/files.h"

/* Parses the 8 hexadecimal digits at @name. */
static bool parse_number(const char *name, int64_t *number)
{
	static const char digits[] = "0123456789ABCDEF";
	int64_t value = 0;

	for (int i = 0; i < 8; i++) {
		const char *digit = name[i] ? strchr(digits, name[i]) : NULL;

		if (!digit)
			return false;
		value = value << 4 | (digit - digits);
	}
	*number = value;
	return value < B2F_OBJECT_PENDING;
}

bool b2f_files_parse_name(const char *name, int64_t *id)
{
	bool pending = *name == '.';
	int64_t number;

	if (strcmp(name, B2F_FILES_NEW_INDEX) == 0) {
		*id = B2F_OBJECT_NEW_INDEX;
		return true;
	}
	name += pending;
	if (!parse_number(name, &number) ||
	    strcmp(name + 8, pending ? ".new" : ".chunk") != 0)
		return false;
	*id = pending ? number | B2F_OBJECT_PENDING : number;
	return true;
}

enum b2f_part b2f_part_of(const char *name)
{
	int64_t id;

	if (strcmp(name, B2F_INDEX_NAME) == 0)
		return B2F_PART_INDEX;
	if (strcmp(name, B2F_FILES_LOCK) == 0)
		return B2F_PART_LOCK;
	if (strncmp(name, B2F_SLOT_NAME, strlen(B2F_SLOT_NAME)) == 0)
		return B2F_PART_SLOT;
	if (!b2f_files_parse_name(name, &id))
		return B2F_PART_NONE;
	return id < 0 || id & B2F_OBJECT_PENDING ? B2F_PART_PENDING
						 : B2F_PART_CHUNK;
}

static int list_open(DIR *dir, int (*fn)(void *arg, int64_t id), void *arg)
{
	const struct dirent *entry;
	int64_t id;
	int ret = 0;

	while (!ret) {
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return -errno;
		if (b2f_files_parse_name(entry->d_name, &id))
			ret = fn(arg, id);
	}
	return ret;
}

int b2f_files_list(int dirfd, int (*fn)(void *arg, int64_t id), void *arg)
{
	/* A dup() would share the position in the directory. */
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int ret;

	if (!dir) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	ret = list_open(dir, fn, arg);
	closedir(dir);
	return ret;
}
