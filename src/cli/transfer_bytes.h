/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transfer_bytes.h - copies one file or object from one place to another
 *
 * A copy has the bytes of one version, or fails.  All of these print the cause
 * on stderr if they fail, but for @has_changed, and return a negative errno.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_TRANSFER_BYTES_H
#define B2F_CLI_TRANSFER_BYTES_H

#include <sys/stat.h>

#include "b2frame/b2frame.h"
#include "cli/at.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "programs/copy_frame.h"

/* The state of a copy; zero-initialize it, but set @fd to -1. */
struct cli_bytes {
	/* Name for messages. */
	const char *name;
	/* The file; if -1, the object. */
	int fd;
	struct b2f_remote_reader *reader;
	/* The frame in the file, if it is one, or NULL. */
	struct b2f_frame *frame;
	uint64_t size;
	/* The version that was opened. */
	struct b2f_frame_stamp version;
	struct cli_progress *progress;
	/* Reading failed, and the error was printed if not @has_changed. */
	bool failed;
	/* Another program has changed the file meanwhile: -ESTALE. */
	bool has_changed;
};

/*
 * Opens the file @at, with the attributes @like; end with cli_bytes_close().
 * If another program is changing a frame, waits for the next version.
 */
B2F_MUST_CHECK
int cli_bytes_open_file(struct cli_bytes *bytes, const struct cli_at *at,
			struct stat *like);

/* Like cli_bytes_open_file(), for @version of the object @remote. */
B2F_MUST_CHECK
int cli_bytes_open_object(struct cli_bytes *bytes, struct b2f_remote *remote,
			  const struct b2f_remote_stat *version);

void cli_bytes_close(struct cli_bytes *bytes);

/*
 * Writes all to the file of @target, behind what a copy that was interrupted
 * has left there.  *@fd is that file, locked, also after an error; -1: none.
 */
B2F_MUST_CHECK
int cli_bytes_to_target(struct cli_bytes *bytes, struct cli_target *target,
			int *fd);

/* Copies to the object @path of @remote, as @output; *@kept: it was there. */
B2F_MUST_CHECK
int cli_bytes_to_object(struct cli_bytes *bytes, struct b2f_remote *remote,
			const char *path, const char *output, bool replace,
			bool *kept);

#endif
