/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directories.h - the directories of a tree that is copied
 *
 * Each is made before what is in it, where only its owner may write to it, and gets its
 * owner, permissions, times and attributes when all is there.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_DIRECTORIES_H
#define B2F_CLI_DIRECTORIES_H

#include <stddef.h>
#include <sys/stat.h>

#include "b2frame/error.h"

/* Zero-initialize it. */
struct cli_directories {
	struct cli_made_directory {
		char *path;
		/* What it is a copy of. */
		char *from;
		struct stat like;
	} *made;
	size_t n;
	size_t room;
};

/*
 * Makes the directory @path as a copy of the directory @from.  One that is there stays
 * as it is.  Returns 0, or an errno after saying it on stderr.
 */
B2F_MUST_CHECK
int cli_directories_make(struct cli_directories *directories, const char *path,
			 const char *from);

/* Ends with those that were made; returns the first error, all of which are said. */
B2F_MUST_CHECK
int cli_directories_finish(struct cli_directories *directories);

#endif
