/* SPDX-License-Identifier: BSD-3-Clause */
/* files_list.c - the files of a frame in its directory, and any directory */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "b2frame/names.h"
#include "base/bytes.h"
#include "programs/directory.h"
#include "store/files.h"

bool b2f_files_parse_name(const char *name, int64_t *id)
{
	bool pending = *name == '.';
	uint64_t number;

	if (strcmp(name, B2F_FILES_NEW_INDEX) == 0) {
		*id = B2F_OBJECT_NEW_INDEX;
		return true;
	}
	name += pending;
	if (b2f_take_hex(&name, &number) != 8 || number >= B2F_OBJECT_PENDING ||
	    strcmp(name, pending ? ".new" : ".chunk") != 0)
		return false;
	*id = (int64_t)number | (pending ? B2F_OBJECT_PENDING : 0);
	return true;
}

enum b2f_part b2f_part_of(const char *name)
{
	int64_t id;

	if (strcmp(name, B2F_INDEX_NAME) == 0)
		return B2F_PART_INDEX;
	if (strcmp(name, B2F_LOCK_NAME) == 0)
		return B2F_PART_LOCK;
	if (strncmp(name, B2F_SLOT_NAME, strlen(B2F_SLOT_NAME)) == 0)
		return B2F_PART_SLOT;
	if (!b2f_files_parse_name(name, &id))
		return B2F_PART_NONE;
	return id < 0 || id & B2F_OBJECT_PENDING ? B2F_PART_PENDING
						 : B2F_PART_CHUNK;
}

/* readdir(3) tells an error from the end by errno alone. */
static int each(DIR *dir, b2f_directory_fn *fn, void *arg)
{
	const struct dirent *d;
	int ret = 0;

	while (!ret) {
		errno = 0;
		d = readdir(dir);
		if (!d)
			return -errno;
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			ret = fn(arg, dirfd(dir), d);
	}
	return ret;
}

int b2f_directory_each(int dirfd, const char *name, b2f_directory_fn *fn,
		       void *arg)
{
	/* A dup() would share the position in the directory. */
	int fd = openat(dirfd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int ret = dir ? 0 : -errno;

	if (dir) {
		ret = each(dir, fn, arg);
		closedir(dir);
	} else if (fd >= 0) {
		close(fd);
	}
	return ret;
}

/* The arguments of b2f_files_list(). */
struct list {
	int (*fn)(void *arg, int64_t id);
	void *arg;
};

static int list_entry(void *arg, int dirfd, const struct dirent *d)
{
	const struct list *list = arg;
	int64_t id;

	(void)dirfd;
	return b2f_files_parse_name(d->d_name, &id) ? list->fn(list->arg, id)
						    : 0;
}

int b2f_files_list(int dirfd, int (*fn)(void *arg, int64_t id), void *arg)
{
	struct list list = {fn, arg};

	return b2f_directory_each(dirfd, ".", list_entry, &list);
}
