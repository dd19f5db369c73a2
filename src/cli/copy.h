/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h - the decoded data of a frame, to a file or for comparison
 *
 * All of these print the cause on stderr if they fail (but not for a closed
 * pipe), and return a negative errno.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_COPY_H
#define B2F_CLI_COPY_H

#include "b2frame/b2frame.h"
#include "cli/output.h"
#include "cli/progress.h"

/* A range of a file to copy. */
struct cli_copy {
	struct b2f_file *file;
	/* Offset and length; both inside the file. */
	uint64_t off;
	uint64_t size;
	/* @head_len bytes to write before the range; NULL: none. */
	const uint8_t *head;
	size_t head_len;
	/* May be NULL. */
	struct cli_progress *progress;
};

/* Copies to @out, with a hole for each hole if @out is sparse. */
B2F_MUST_CHECK
int cli_copy_output(const struct cli_copy *copy, struct cli_output *out);

/*
 * Compares with an existing copy, the plain file @fd named @name, from offset
 * @off on.  Returns 0, -EIO if it differs or is longer, or another errno.
 */
B2F_MUST_CHECK
int cli_copy_compare_fd(const struct cli_copy *copy, int fd, uint64_t off,
			const char *name);

/*
 * Compares data, metalayers and vlmetalayers of @a and @b.  Returns 0, -EIO if
 * they differ, or another errno; messages name @b.
 */
B2F_MUST_CHECK
int cli_copy_compare_all(struct b2f_file *a, struct b2f_file *b,
			 struct cli_progress *progress);

#endif
