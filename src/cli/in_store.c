/* SPDX-License-Identifier: BSD-3-Clause */
/* in_store.c - is a file part of a store of python-blosc2? */
#include "cli/in_store.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".b2d"
#define EMBED  "embed.b2e"

static bool is_store(const char *dir)
{
	size_t n = strlen(dir), suffix = sizeof(SUFFIX) - 1;
	char *embed = NULL;
	bool is;

	if (n > suffix && strcmp(dir + n - suffix, SUFFIX) == 0)
		return true;
	if (asprintf(&embed, "%s/" EMBED, dir) < 0)
		return false;
	is = access(embed, F_OK) == 0;
	free(embed);
	return is;
}

bool cli_in_store(const char *path)
{
	char *copy = strdup(path), *dir = NULL;
	bool is = false;

	/* "x/" is in the directory that x is in. */
	if (copy)
		dir = realpath(dirname(copy), NULL);
	while (dir && !is) {
		char *slash = strrchr(dir, '/');

		is = is_store(dir);
		if (!slash || slash[1] == '\0')
			break;
		/* "/" stays. */
		slash[slash == dir] = '\0';
	}
	free(dir);
	free(copy);
	return is;
}
