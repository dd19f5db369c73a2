/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * longer.h - appending to a Bloscpack file
 *
 * The added data go into a temporary frame beside the file.  Then a new file is
 * made of both, and one rename replaces the old file when the new one is on the
 * disk.  So a crash leaves one of the two files, whole.
 *
 * All of these print the cause on stderr if they fail, and return a negative
 * errno.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_LONGER_H
#define B2F_CLI_LONGER_H

#include <sys/stat.h>

#include "b2frame/b2frame.h"
#include "cli/progress.h"
#include "cli/target.h"

/* Zero-initialize it, but for @scratch.dirfd, which is -1. */
struct cli_longer {
	struct b2f_runtime *runtime;
	const char *path;
	/* @path as an operand. */
	struct cli_at at;
	/* The file as it was opened; owned by the caller. */
	struct b2f_frame *old;
	/* Attributes of the file. */
	struct stat like;
	/* The temporary frame with the added data. */
	struct cli_target scratch;
};

/*
 * Begins to append to the Bloscpack file @path, open as @old: write the data to
 * *@out, from offset 0 on.  End with cli_longer_end() in any case.
 */
B2F_MUST_CHECK
int cli_longer_begin(struct cli_longer *longer, struct b2f_runtime *runtime,
		     const char *path, struct b2f_frame *old,
		     struct b2f_file **out);

/* Makes the new file, after the last commit of *@out; *@cbytes is its size. */
B2F_MUST_CHECK
int cli_longer_finish(struct cli_longer *longer, struct cli_progress *progress,
		      uint64_t *cbytes);

void cli_longer_end(struct cli_longer *longer);

#endif
