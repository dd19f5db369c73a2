/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attributes.h - owner, permissions and times of a frame
 *
 * Layer: cli.  Threads: any.
 */
#ifndef B2F_CLI_ATTRIBUTES_H
#define B2F_CLI_ATTRIBUTES_H

#include <stdint.h>
#include <sys/stat.h>

#include "b2frame/error.h"
#include "cli/at.h"

/*
 * Gives the new file or frame @at, which no other user can reach yet,
 * owner, permissions and times of @like.  @from, if not -1, is the open file,
 * or the index of the frame, whose ACL and user.* attributes are copied.
 *
 * Returns 0 or an errno, and prints nothing.  Leaves out what
 * b2f_attributes_take() leaves out.
 */
B2F_MUST_CHECK
int cli_attributes_set(const struct cli_at *at, const struct stat *like,
		       int from);

/* Like cli_attributes_set(), for the new file that is open as @fd. */
B2F_MUST_CHECK
int cli_attributes_set_file(int fd, const struct stat *like, int from);

/* Like cli_attributes_set(), for the directory @fd, which is not a frame. */
B2F_MUST_CHECK
int cli_attributes_set_directory(int fd, const struct stat *like, int from);

/*
 * Marks @at, a file or a frame that is being made, as a copy of @key; set its
 * attributes afterwards.  Does nothing where the filesystem has no attributes.
 */
void cli_attributes_mark_copy(const struct cli_at *at, uint64_t key);

/* Has @at the mark @key? 1 or 0; or an errno, -ENOTSUP without attributes. */
B2F_MUST_CHECK
int cli_attributes_is_copy(const struct cli_at *at, uint64_t key);

/* The mode bits that new files do not get (umask); changes nothing. */
static inline mode_t cli_attributes_umask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return mask;
}

#endif
