/* SPDX-License-Identifier: BSD-3-Clause */
/* place.c - the current name of an open file */
#include "store/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int b2f_place_init(struct b2f_place *place, int dir, const char *name)
{
	char *copy = strdup(name);
	int fd = AT_FDCWD;

	if (copy && dir != AT_FDCWD)
		fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (!copy || fd == -1) {
		free(copy);
		return copy ? -errno : -ENOMEM;
	}
	*place = (struct b2f_place){fd, copy};
	return 0;
}

void b2f_place_fini(struct b2f_place *place)
{
	free(place->name);
	place->name = NULL;
	if (place->dir >= 0)
		close(place->dir);
	place->dir = AT_FDCWD;
}

bool b2f_place_has(const struct b2f_place *place, int fd)
{
	/*
	 * Do not ask a filesystem that is mounted there: it may be served by
	 * this process.
	 */
	const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
	struct statx file, st;

	return !statx(fd, "", flags | AT_EMPTY_PATH, STATX_INO, &file) &&
	       !statx(place->dir, place->name, flags, STATX_INO, &st) &&
	       file.stx_dev_major == st.stx_dev_major &&
	       file.stx_dev_minor == st.stx_dev_minor &&
	       file.stx_ino == st.stx_ino;
}

/* Reads the kernel's path of @fd; @path is 0-terminated. */
static bool read_path(int fd, char path[PATH_MAX])
{
	char link[48];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	if (n <= 0 || path[0] != '/')
		return false;
	path[n] = 0;
	return true;
}

/* Length of the directories that both paths share. */
static size_t find_common(const char *a, const char *b)
{
	size_t n = 0;

	for (size_t i = 0;; i++) {
		if ((!a[i] || a[i] == '/') && (!b[i] || b[i] == '/'))
			n = i;
		if (!a[i] || a[i] != b[i])
			return n;
	}
}

/* Goes from the directory *@dir to @name in it; sets an errno on failure. */
static void step(int *dir, const char *name)
{
	int next = openat(*dir, name,
			  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (next < 0)
		next = -errno;
	close(*dir);
	*dir = next;
}

/*
 * Walks from the directory *@dir, with path @from, to @to; sets an errno on
 * failure.
 */
static void walk(int *dir, const char *from, char *to)
{
	size_t n = find_common(from, to);
	char *rest, *name;

	for (const char *up = from + n; *up && *dir >= 0; up++)
		if (*up == '/')
			step(dir, "..");
	for (name = strtok_r(to + n, "/", &rest); name && *dir >= 0;
	     name = strtok_r(NULL, "/", &rest))
		step(dir, name);
}

/* Returns a descriptor or an errno. */
static int open_start(const struct b2f_place *before, char from[PATH_MAX])
{
	int fd;

	from[0] = 0;
	if (before->dir != AT_FDCWD && !read_path(before->dir, from))
		return -ENOENT;
	/* The parent of an absolute path is the root. */
	if (strcmp(from, "/") == 0)
		from[0] = 0;
	fd = openat(before->dir, before->dir == AT_FDCWD ? "/" : ".",
		    O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int b2f_place_find(const struct b2f_place *before, int fd,
		   struct b2f_place *out)
{
	B2F_OWN char *from = malloc(PATH_MAX), *path = malloc(PATH_MAX);
	char *name;
	struct b2f_place place = {.dir = AT_FDCWD};
	int err = from && path ? -ENOENT : -ENOMEM;

	if (err == -ENOENT && read_path(fd, path))
		place.dir = open_start(before, from);
	if (place.dir >= 0) {
		name = strrchr(path, '/');
		*name++ = 0;
		walk(&place.dir, from, path);
		place.name = strdup(name);
		err = place.name ? -ENOENT : -ENOMEM;
	}
	/* This tells nothing of its place. */
	if (place.dir == -EMFILE || place.dir == -ENFILE ||
	    place.dir == -ENOMEM)
		err = place.dir;
	if (place.dir >= 0 && place.name && b2f_place_has(&place, fd)) {
		*out = place;
		return 0;
	}
	b2f_place_fini(&place);
	return err;
}
