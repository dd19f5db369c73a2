/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ls_tree.h - frames as a tree of directories, with what arrays they are
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_LS_TREE_H
#define B2F_CLI_LS_TREE_H

#include <jansson.h>

#include "cli/walk.h"

/* Zero-initialize it. */
struct cli_ls_tree {
	/* Directory of the last line; malloc'ed. */
	char *dir;
	/* Bytes of paths that are before the top of the tree. */
	size_t skip;
};

/* Begins the tree below what the user calls @path. */
void cli_ls_tree_begin(struct cli_ls_tree *tree, const char *path);

/* Prints the directories that @path is in and the last one was not. */
void cli_ls_tree_enter(struct cli_ls_tree *tree, const char *path);

/* Prints the last part of @path, as deep as it lies. */
void cli_ls_tree_put_name(const struct cli_ls_tree *tree, const char *path);

void cli_ls_tree_fini(struct cli_ls_tree *tree);

/* Adds to @object what the index of @entry says of an array, if it is one. */
void cli_ls_tree_add_array(json_t *object, const struct cli_walk_entry *entry);

#endif
