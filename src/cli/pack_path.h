/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_path.h - frames in stores that are one file (.b2z, .b2e), by path
 *
 * STORE/KEY is the frame KEY in the file STORE, as if that were a directory.
 * All of these print the cause on stderr if they fail.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_PACK_PATH_H
#define B2F_CLI_PACK_PATH_H

#include "b2frame/b2frame.h"
#include "cli/at.h"

/*
 * If @path leads into a store that is a file, or with @whole is such a store:
 * returns the path of the file, malloc'ed, with the rest in *@key ("": the
 * whole store).  Otherwise NULL.  For a URL the names decide; a .b2z is always
 * a whole store.
 */
char *cli_pack_path_split(const char *path, bool whole, const char **key);

/* Does @path, not a URL, lead into such a store, or with @whole to it? */
bool cli_pack_path_leads_in(const char *path, bool whole);

/*
 * Opens the frame @key of the store @file.  Errors: those of b2f_pack_open()
 * and b2f_pack_open_frame(), -ENOENT.
 */
B2F_MUST_CHECK
int cli_pack_path_open(const struct b2f_frame_options *options,
		       const struct cli_at *file, const char *key,
		       struct b2f_frame **out);

/* Opens the store @file.  Errors: those of b2f_pack_open(). */
B2F_MUST_CHECK
int cli_pack_path_open_pack(const struct cli_at *file, struct b2f_pack **out);

/* Finds @key in @pack, the store @file in messages. */
B2F_MUST_CHECK
int cli_pack_path_find(const struct b2f_pack *pack, const char *file,
		       const char *key, size_t *out);

#endif
