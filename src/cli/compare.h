/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.h - is a frame the same as another one?
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_COMPARE_H
#define B2F_CLI_COMPARE_H

#include "b2frame/b2frame.h"
#include "cli/progress.h"

/*
 * Compares data, metalayers and vlmetalayers of @a and @b.  Returns 0, -EIO if
 * they differ, or another errno; it is said on stderr, about @b.
 */
B2F_MUST_CHECK
int cli_compare_frames(struct b2f_file *a, struct b2f_file *b,
		       struct cli_progress *progress);

#endif
