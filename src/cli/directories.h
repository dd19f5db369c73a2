/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directories.h - the directories of a tree that is copied
 *
 * A directory is made before its contents, writable for its owner alone, and
 * gets its owner, permissions, times and attributes when its contents are
 * complete.  Both use descriptors of the source and the copy, because the names
 * may change meanwhile.
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
	/* The top directories of both trees, owned by the caller. */
	int from;
	int to;
	/* Directories made so far. */
	struct cli_made_directory {
		/* Path below both tops. */
		char *below;
		struct stat like;
		struct stat as;
	} *made;
	size_t n;
};

/*
 * Makes the directory @below, named @path in messages, or (@was_made) notes
 * that it was made.  An existing directory is not changed.  Returns 0, or an
 * errno after printing it.
 */
B2F_MUST_CHECK
int cli_directories_make(struct cli_directories *directories, const char *path,
			 const char *below, bool was_made);

/*
 * Finishes the directories made below @path; prints all errors, and returns the
 * first.
 */
B2F_MUST_CHECK
int cli_directories_finish(struct cli_directories *directories,
			   const char *path);

#endif
