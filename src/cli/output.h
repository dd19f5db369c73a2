/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h - a file that is written completely or not at all
 *
 * Data go to a temporary file in the directory of the result, and get the final
 * name when they are complete.  Special files (a device, a pipe, standard
 * output) are written directly.
 *
 * All of these print the cause on stderr if they fail, and return a negative
 * errno.  A closed pipe (-EPIPE) is not printed.
 *
 * Layer: cli.  Threads: main only, one output at a time.
 */
#ifndef B2F_CLI_OUTPUT_H
#define B2F_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "b2frame/error.h"
#include "cli/at.h"
#include "cli/target.h"

/* cli_output_open() sets all of it. */
struct cli_output {
	int fd;
	/*
	 * The file, which gets its name at the end; its temp is NULL if the
	 * output is written directly.
	 */
	struct cli_target target;
	/*
	 * The attributes of the frame that is written, and its open index or
	 * -1.
	 */
	struct stat like;
	int from;
	/* Runs of zeros become holes. */
	bool sparse;
	/* The offset of the next byte; if @sparse, a hole may precede it. */
	uint64_t pos;
};

/* Standard output; need not be closed. */
struct cli_output cli_output_standard(void);

/*
 * Begins the file @at; *@out is in use until cli_output_close().  Until then a
 * signal removes the incomplete file (cleanup.h).  It gets the attributes of
 * @frame, which is at @source.  Without @replace an existing file is -EEXIST;
 * the source is "the @what itself", and -EINVAL.
 */
B2F_MUST_CHECK
int cli_output_open(struct cli_output *out, const struct cli_at *at,
		    bool replace, const struct cli_at *source,
		    const struct b2f_frame *frame, const char *what);

/* Adds the @size bytes at @data. */
B2F_MUST_CHECK
int cli_output_write(struct cli_output *out, const void *data, size_t size);

/*
 * After the last byte: sets the size, and attributes as
 * cli_attributes_set_file(); with @durable, or if it replaces a file, syncs it.
 */
B2F_MUST_CHECK
int cli_output_finish(struct cli_output *out, bool durable);

/* Gives the file its name; syncs that, too, if the file was synced. */
B2F_MUST_CHECK
int cli_output_commit(struct cli_output *out, bool durable);

/* Removes an uncommitted file, and frees everything. */
void cli_output_close(struct cli_output *out);

#endif
