/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ls_tree.h - frames as a tree of directories, with what arrays they are
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_LS_TREE_H
#define B2F_CLI_LS_TREE_H

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

/* Prints the names of the columns. */
void cli_ls_tree_head(void);

/*
 * Prints the frame @entry, and before it the directories that it is in and the
 * last one was not.  @columns: what stands before shape and name.
 */
void cli_ls_tree_print(struct cli_ls_tree *tree,
		       const struct cli_walk_entry *entry, const char *columns);

void cli_ls_tree_fini(struct cli_ls_tree *tree);

/* The frame of @entry, its index read; NULL: it cannot be.  Close it. */
struct b2f_frame *cli_ls_tree_open(const struct cli_walk_entry *entry);

/* Geometry and type of @frame, which may be NULL; NULL: it is no array. */
const struct b2f_array *cli_ls_tree_array(const struct b2f_frame *frame);

#endif
