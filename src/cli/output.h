/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h - a file that is written as a whole or not at all
 *
 * Data go to a temporary name in the directory of the result, which takes its
 * place when all is there.  Something that is no regular file (a device, a
 * pipe, standard output) is written as it is.
 *
 * All of these say on stderr why they failed, and return a negative errno.
 * They are silent if the reader of standard output has closed it (-EPIPE).
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
#include "cli/target.h"

/* Zero-initialize it. */
struct cli_output {
	int fd;
	/*
	 * The file that takes the name in the end; its temp is NULL if the
	 * output is written in place.
	 */
	struct cli_target target;
	/* Runs of zeros become holes. */
	bool sparse;
	/* The offset of the next byte. */
	uint64_t pos;
};

/* Standard output; it needs no end. */
struct cli_output cli_output_standard(void);

/*
 * Begins the file @at; *@out is in use until cli_output_close().  Until then
 * the signals of cleanup.h remove an incomplete file.  Without @replace an
 * existing file is -EEXIST.
 */
B2F_MUST_CHECK
int cli_output_open(struct cli_output *out, const struct cli_at *at,
		    bool replace, bool sparse);

/*
 * -EINVAL, after saying that it is the @what itself, if the file that would be
 * replaced is the one that @like is of; else 0.
 */
B2F_MUST_CHECK
int cli_output_check_distinct(const struct cli_output *out,
			      const struct stat *like, const char *what);

/* Adds the @size bytes at @data. */
B2F_MUST_CHECK
int cli_output_write(struct cli_output *out, const void *data, size_t size);

/* Adds @size zeros as a hole; only if @out is sparse. */
void cli_output_skip(struct cli_output *out, uint64_t size);

/*
 * After the last byte: the size is right from here on, owner (if that is
 * allowed), mode and times are those of @like; with @durable all is on disk.
 */
B2F_MUST_CHECK
int cli_output_finish(struct cli_output *out, const struct stat *like,
		      bool durable);

/* Gives the file its name; with @durable that is on disk as well. */
B2F_MUST_CHECK
int cli_output_commit(struct cli_output *out, bool durable);

/* Removes an uncommitted file, and frees everything. */
void cli_output_close(struct cli_output *out);

#endif
