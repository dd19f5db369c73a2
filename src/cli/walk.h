/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk.h - the frames in a directory, in a store, or on a server
 *
 * Symbolic links are not followed.  The walk does not go into frames, or into
 * leftovers of killed commands and mounts.  A store that is one file
 * (pack_path.h) is like a directory.  A frame with several names
 * (programs/home.h) is visited under each of them, and not at its home.
 *
 * Each directory is opened below the one that the user named (at.h), so that
 * other users cannot redirect the walk by renaming.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_WALK_H
#define B2F_CLI_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "b2frame/frame.h"
#include "b2frame/pack.h"
#include "cli/at.h"

struct cli_walk_entry {
	/* The path, beginning with the operand. */
	const char *path;
	/*
	 * The path below the operand ("": the operand itself); of a MEMBER,
	 * with the file of the store.
	 */
	const char *below;
	/* The place; of one of several names, the home. */
	struct cli_at at;
	/* The frame was visited under another name. */
	bool again;
	const struct stat *st;
	/* Zero for anything but a frame. */
	struct b2f_frame_peek peek;
	/* For a frame in a store that is a file: open, unless it is broken. */
	struct b2f_frame *frame;
	/* The store that is a file, and the entry in it; NULL: none. */
	const struct b2f_pack *pack;
	size_t in_pack;
};

struct cli_walk {
	/* Go into directories, and stores that are files. */
	bool recursive;
	/* Treat stores that are files like other files. */
	bool no_stores;
	/* Called for every entry, frames or not, sorted by name. */
	void (*visit)(void *arg, const struct cli_walk_entry *entry);
	void *arg;
};

/*
 * Visits the entries of the directory @path ("." adds no prefix), or @path
 * itself if it is not a directory.  Returns 0, or the first error after
 * visiting all; prints each.
 */
B2F_MUST_CHECK
int cli_walk_run(const struct cli_walk *walk, const char *path);

#endif
