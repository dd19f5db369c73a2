/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directories.h - the directories of a tree that is copied
 *
 * Each is made before what is in it, where only its owner may write to it, and gets its
 * owner, permissions, times and attributes when all is there: by descriptors of the two
 * that it was made of and as, whatever has their names by then.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_DIRECTORIES_H
#define B2F_CLI_DIRECTORIES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "b2frame/error.h"

struct cli_directories {
	/* The tops of both trees, which stay the caller's. */
	int from;
	int to;
	/* Directories that were made; at first none. */
	struct cli_made_directory {
		/* Below both tops. */
		char *below;
		struct stat like;
		struct stat as;
	} *made;
	size_t n;
	size_t room;
};

/*
 * Makes the directory @below, called @path, or notes that it was made.  An
 * existing directory stays as it is.  Returns 0, or an errno after saying it on
 * stderr.
 */
B2F_MUST_CHECK
int cli_directories_make(struct cli_directories *directories, const char *path,
			 const char *below, bool was_made);

/*
 * Finishes the directories that were made below @path; returns the first
 * error, and prints all.
 */
B2F_MUST_CHECK
int cli_directories_finish(struct cli_directories *directories,
			   const char *path);

#endif
