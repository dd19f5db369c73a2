/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk.h - the frames in a directory
 *
 * Symbolic links are not followed, and nothing is looked for inside a frame, or
 * in what a command or a mount that was killed had half made.  A
 * store that is one file (pack_path.h) is like a directory.  A frame with several names
 * (programs/home.h) is visited by each of them, and not where it lies.
 *
 * Each directory is opened below the one that the user named (at.h), so that other users
 * who rename meanwhile lead nowhere else.
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
	/* From the directory on, or what the user gave. */
	const char *path;
	/*
	 * The part of it below that, which has the file @at of a MEMBER in it; "": that
	 * itself.
	 */
	const char *below;
	/* Where it is; of one of several names, where the frame lies. */
	struct cli_at at;
	/* It was visited by another of its names. */
	bool again;
	const struct stat *st;
	/* Zero if it is no frame. */
	struct b2f_frame_peek peek;
	/* If it is one in a store that is a file: open, unless it is broken. */
	struct b2f_frame *frame;
	/* The store that is a file, and the entry of it; NULL: in none. */
	const struct b2f_pack *pack;
	size_t in_pack;
};

struct cli_walk {
	/* Go into directories, and stores that are files. */
	bool recursive;
	/* Take stores that are files for files like others. */
	bool no_stores;
	/* Gets every entry, frames or not, sorted by name. */
	void (*visit)(void *arg, const struct cli_walk_entry *entry);
	void *arg;
};

/*
 * Visits the entries of the directory @path ("." leaves no trace in the
 * names), or @path itself if it is something else.  Returns 0, or the first
 * error after everything was visited; each is said on stderr.
 */
B2F_MUST_CHECK
int cli_walk_run(const struct cli_walk *walk, const char *path);

#endif
