/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_sample.h - a sample of a file, for bloscctl bench
 *
 * All of these print the cause on stderr if they fail, and return a negative
 * errno.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_BENCH_SAMPLE_H
#define B2F_CLI_BENCH_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "b2frame/error.h"

struct cli_bench_sample {
	/* malloc'ed. */
	uint8_t *data;
	size_t size;
	/* Size of the file; of a pipe, the bytes that were read. */
	uint64_t total;
	/* The item size guessed from them. */
	uint32_t typesize;
};

/*
 * Takes up to @limit (> 0) bytes of @path, in pieces from its whole length: of
 * a plain file, of the data of a frame, or from the start of standard input
 * ("-"). -ENODATA: there are no data.
 */
B2F_MUST_CHECK
int cli_bench_sample_take(const char *path, uint64_t limit,
			  struct cli_bench_sample *out);

#endif
