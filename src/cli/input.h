/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h - plain data on their way into a frame
 *
 * All of these say on stderr why they failed, and return a negative errno.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_INPUT_H
#define B2F_CLI_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "b2frame/b2frame.h"
#include "cli/at.h"
#include "cli/progress.h"

struct cli_input {
	int fd;
	/* Name for messages. */
	const char *name;
	/* When it was opened. */
	struct stat st;
	/* cli_input_claim() got a lease. */
	bool is_claimed;
	/* Has a size, holes, and can be read again. */
	bool is_file;
	/* Where its data begin: standard input may have been read before. */
	uint64_t base;
	/* Bytes from there on, as far as that is known; else 0. */
	uint64_t size;
	/* Bytes that were read ahead from a pipe; malloc'ed. */
	uint8_t *ahead;
	size_t nahead;
};

/*
 * Opens @at, or standard input for "-".  Directories are -EISDIR.  End with
 * cli_input_close().
 */
B2F_MUST_CHECK
int cli_input_open(struct cli_input *in, const struct cli_at *at);

void cli_input_close(struct cli_input *in);

/*
 * Before the last look at a file that is to be removed: refuses one that a program
 * writes to, and learns of those that are about to, where the filesystem has leases.
 * Returns 0 or -EBUSY.
 */
B2F_MUST_CHECK
int cli_input_claim(struct cli_input *in);

/* Is it still what was opened, and claimed by us?  Returns 0, -EBUSY or an errno. */
B2F_MUST_CHECK
int cli_input_check_unchanged(const struct cli_input *in);

/*
 * Reads up to @size bytes from @off on, or the next bytes of a pipe or device.
 * Returns the number of bytes, which is less than @size at the end only.
 */
B2F_MUST_CHECK
ssize_t cli_input_read(const struct cli_input *in, void *buf, size_t size,
		       uint64_t off);

/*
 * Where the first data of @in at or behind @off are, or its end if there are none; of
 * what is no file, @off.
 */
uint64_t cli_input_find(const struct cli_input *in, uint64_t off);

/*
 * The first data of @in, up to a mebibyte, in *@out, malloc'ed; *@size may be
 * 0.  Before anything else is read.
 */
B2F_MUST_CHECK
int cli_input_sample(struct cli_input *in, uint8_t **out, size_t *size);

/*
 * Writes all of @in to @file, called @target, from byte @off on.  Holes stay
 * holes.  *@nbytes is how many there were.  @progress may be NULL.
 */
B2F_MUST_CHECK
int cli_input_copy(const struct cli_input *in, struct b2f_file *file,
		   const char *target, uint64_t off,
		   struct cli_progress *progress, uint64_t *nbytes);

#endif
