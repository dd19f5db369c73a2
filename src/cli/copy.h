/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h - the data of a frame, from its file to somewhere else
 *
 * All of these say on stderr why they failed (but not about a closed pipe), and
 * return a negative errno.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_COPY_H
#define B2F_CLI_COPY_H

#include "b2frame/file.h"
#include "cli/output.h"
#include "cli/progress.h"

/* What to copy. */
struct cli_copy {
	struct b2f_file *file;
	/* First byte, and how many; both inside the file. */
	uint64_t off;
	uint64_t size;
	/* What comes before them: @head_len bytes; NULL: nothing. */
	const uint8_t *head;
	size_t head_len;
	/* May be NULL. */
	struct cli_progress *progress;
};

/* To @fd, which messages call @name. */
__attribute__((warn_unused_result)) int
cli_copy_stream(const struct cli_copy *copy, int fd, const char *name);

/* To @out, with a hole for each hole if @out is sparse. */
__attribute__((warn_unused_result)) int
cli_copy_output(const struct cli_copy *copy, struct cli_output *out);

/*
 * Reads @out again and compares it.  Returns 0, or -EIO if it is not the same.
 */
__attribute__((warn_unused_result)) int
cli_copy_compare(const struct cli_copy *copy, const struct cli_output *out);

#endif
