/* SPDX-License-Identifier: BSD-3-Clause */
/* made.c - the files that this run has made or reads */
#include "cli/made.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>

#include "cli/at.h"

/* A file or directory, as a node of a search tree. */
struct made {
	dev_t dev;
	ino_t ino;
};

static void *all;

static int compare(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static int note(const struct stat *st)
{
	struct made *made = malloc(sizeof(*made));
	void *node;

	if (!made)
		return -ENOMEM;
	*made = (struct made){st->st_dev, st->st_ino};
	node = tsearch(made, &all, compare);
	if (!node || *(struct made **)node != made)
		free(made);
	return node ? 0 : -ENOMEM;
}

int cli_made_note(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) ? -errno
							      : note(&st);
}

void cli_made_note_operand(const char *path)
{
	const struct cli_at at = cli_at_named(path);
	struct stat st;

	/* Without memory the next step fails as well. */
	if (cli_at_stat(&at, &st) == 0)
		(void)!note(&st);
}

bool cli_made_has(const struct stat *st)
{
	const struct made made = {st->st_dev, st->st_ino};

	return tfind(&made, &all, compare) != NULL;
}
