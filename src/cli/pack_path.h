/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_path.h - frames in stores that are one file (.b2z, .b2e), by path
 *
 * STORE/KEY is the frame KEY in the file STORE, as if that were a directory.
 * All of these say on stderr why they failed.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_PACK_PATH_H
#define B2F_CLI_PACK_PATH_H

#include "b2frame/b2frame.h"
#include "cli/at.h"
#include "cli/walk.h"

/*
 * If @path leads into a file that is a store, or with @whole is such a file:
 * that file, malloc'ed, with *@key what follows in @path ("": all of it). NULL:
 * it is no such path.  Of a URL names tell what it is; a .b2z is always whole.
 */
char *cli_pack_path_split(const char *path, bool whole, const char **key);

/* Does @path, no URL, lead into a file that is a store, or with @whole to one? */
bool cli_pack_path_leads_in(const char *path, bool whole);

/* Is @path called as a store is that is a ZIP file? */
bool cli_pack_path_is_zip(const char *path);

/*
 * Opens the frame @key of the store @file.  Errors: those of b2f_pack_open()
 * and b2f_pack_open_frame(), -ENOENT.
 */
B2F_MUST_CHECK
int cli_pack_path_open(const struct b2f_frame_options *options,
		       const struct cli_at *file, const char *key,
		       struct b2f_frame **out);

/*
 * Visits what is in the directory @key of the store @file, which is at @below of what
 * is walked through, or the frame that @key is.  Returns 0, or the first error after
 * everything was visited; what cannot be read where it lies is an error.
 */
B2F_MUST_CHECK
int cli_pack_path_walk(const struct cli_walk *walk, const struct cli_at *file,
		       const char *below, const char *key);

/* Is the file @at, found below a directory, such a store? */
bool cli_pack_path_is_store(const struct cli_at *at);

/* The same with a @pack that is open, and is @st. */
B2F_MUST_CHECK
int cli_pack_path_walk_in(const struct cli_walk *walk,
			  const struct b2f_pack *pack, const struct stat *st,
			  const struct cli_at *file, const char *below,
			  const char *key);

/*
 * Fills in what b2f_frame_peek() would find; @frame is NULL if the frame is
 * broken.
 */
void cli_pack_path_fill_peek(struct b2f_frame_peek *peek,
			     const struct b2f_frame *frame);

#endif
