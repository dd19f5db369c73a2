/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_sample.h - some of the data of a file, for bloscctl bench
 *
 * All of these say on stderr why they failed, and return a negative errno.
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
	/* Bytes of all data; those that were read of a pipe. */
	uint64_t total;
	/* The item size that they tell. */
	uint32_t typesize;
};

/*
 * Takes up to @limit (> 0) bytes of @path, in pieces from its whole length: of a
 * plain file, of what a frame holds, or from the start of standard input ("-").
 * No data at all are -ENODATA.
 */
B2F_MUST_CHECK
int cli_bench_sample_take(const char *path, uint64_t limit,
			  struct cli_bench_sample *out);

#endif
