/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * found.h - the files and frames below a directory, listed before the work
 * begins
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_FOUND_H
#define B2F_CLI_FOUND_H

#include "cli/at.h"
#include "cli/walk.h"

/* Something below a directory. */
struct cli_found_item {
	/* See struct cli_walk_entry; malloc'ed. */
	char *path;
	char *below;
	enum cli_kind kind;
	/* Where it lies in its directory; of a MEMBER, its store. */
	char *name;
	/* A MEMBER's place in that; else NULL. */
	char *key;
};

struct cli_found {
	/* Collect plain files; otherwise frames; or both. */
	bool files;
	bool all;
	/* A frame with several names counts once. */
	bool once;
	struct cli_found_item *items;
	size_t n;
	/* With @all, the directories that these are in. */
	struct cli_found_item *dirs;
	size_t ndirs;
	/* There is no memory; something is there that is not worked on. */
	int err;
	int refused;
};

/* Visits for struct cli_walk, with a struct cli_found. */
void cli_found_collect(void *found, const struct cli_walk_entry *entry);

/* Frees all that was collected. */
void cli_found_fini(struct cli_found *found);

#endif
