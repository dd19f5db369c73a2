/* SPDX-License-Identifier: BSD-3-Clause */
/* made.c - what this run has made */
#include "cli/made.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>

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

int cli_made_note(int dirfd, const char *name)
{
	struct made *made = malloc(sizeof(*made));
	struct stat st;
	void *node;

	if (!made)
		return -ENOMEM;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		free(made);
		return -errno;
	}
	*made = (struct made){st.st_dev, st.st_ino};
	node = tsearch(made, &all, compare);
	if (!node || *(struct made **)node != made)
		free(made);
	return node ? 0 : -ENOMEM;
}

bool cli_made_has(const struct stat *st)
{
	const struct made made = {st->st_dev, st->st_ino};

	return tfind(&made, &all, compare) != NULL;
}
