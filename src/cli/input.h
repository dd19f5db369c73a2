/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h - plain data that are to be written to a frame
 *
 * All of these print the cause on stderr if they fail, and return a negative
 * errno.
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
	/* The attributes at the open. */
	struct stat st;
	/* cli_input_claim() got a lease. */
	bool is_claimed;
	/* A regular file: it has a size, holes, and can be read again. */
	bool is_file;
	/* Offset of the data: standard input may have been read before. */
	uint64_t base;
	/* Size of the data if known; else 0. */
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
 * Before the last check of a file that is to be removed: refuses a file that a
 * program has open for writing, and takes a lease against later writers, where
 * the filesystem has leases.  Returns 0 or -EBUSY.
 */
B2F_MUST_CHECK
int cli_input_claim(struct cli_input *in);

/* Is it unchanged, without other writers? Returns 0, -EBUSY or an errno. */
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
 * Offset of the first data of @in at or after @off, or its end if there are
 * none; @off if @in is not a file.
 */
uint64_t cli_input_find(const struct cli_input *in, uint64_t off);

/*
 * Reads the first data of @in, up to a mebibyte, to *@out, malloc'ed; *@size
 * may be 0.  Call it before any other read.
 */
B2F_MUST_CHECK
int cli_input_sample(struct cli_input *in, uint8_t **out, size_t *size);

/*
 * Writes all of @in to @file, named @target, from offset @off on.  Holes stay
 * holes.  *@nbytes is the number of bytes.  @progress may be NULL.
 */
B2F_MUST_CHECK
int cli_input_copy(const struct cli_input *in, struct b2f_file *file,
		   const char *target, uint64_t off,
		   struct cli_progress *progress, uint64_t *nbytes);

#endif
