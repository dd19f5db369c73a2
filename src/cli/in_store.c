/* SPDX-License-Identifier: BSD-3-Clause */
/* in_store.c - is a file part of a store of python-blosc2? */
#include "cli/in_store.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".b2d"
#define EMBED  "embed.b2e"

/* Has the directory @fd, or one that it is in, the name of a store? */
static bool is_called_so(int fd)
{
	size_t suffix = sizeof(SUFFIX) - 1;
	char link[40], path[PATH_MAX], *save = NULL, *name;
	ssize_t n;
	bool is = false;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	for (name = strtok_r(path, "/", &save); name && !is;
	     name = strtok_r(NULL, "/", &save)) {
		size_t len = strlen(name);

		is = len > suffix && strcmp(name + len - suffix, SUFFIX) == 0;
	}
	return is;
}

/* Has the directory @fd, or one that it is in, what only a store has? */
static bool has_embedded(int fd)
{
	struct stat here, above;
	bool has = false;

	fd = cli_at_open_below(fd, "", O_PATH);
	while (fd >= 0 && !has) {
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		bool more = up >= 0 && fstat(fd, &here) == 0 &&
			    fstat(up, &above) == 0 &&
			    (here.st_dev != above.st_dev ||
			     here.st_ino != above.st_ino);

		has = faccessat(fd, EMBED, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
		close(fd);
		if (!more && up >= 0)
			close(up);
		fd = more ? up : -1;
	}
	if (fd >= 0)
		close(fd);
	return has;
}

/* The directory of what the user named: "x/" is in the one that x is in. */
static int open_named(const char *name)
{
	char *copy = strdup(name);
	struct cli_at dir = cli_at_path(copy ? dirname(copy) : "");
	int fd = copy ? cli_at_open(&dir, O_PATH | O_DIRECTORY) : -1;

	free(copy);
	return fd;
}

bool cli_in_store(const struct cli_at *at)
{
	int fd = cli_at_is_named(at) ? open_named(at->name) : at->dir;
	bool is = fd >= 0 && (is_called_so(fd) || has_embedded(fd));

	if (fd >= 0 && fd != at->dir)
		close(fd);
	return is;
}
