/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_result.h - what bloscctl bench has measured, and what follows from it
 *
 * A row is on the *front* if no other one is as good in ratio and both speeds, and
 * better in one of them.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_BENCH_RESULT_H
#define B2F_CLI_BENCH_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/measure.h"

struct cli_bench_row {
	struct b2f_settings settings;
	struct b2f_measured measured;
	bool front;
};

/* Zero-initialize it; @rows is malloc'ed. */
struct cli_bench_result {
	const char *path;
	/* Bytes of all data, and of those that were tried. */
	uint64_t total;
	uint64_t size;
	struct cli_bench_row *rows;
	size_t n;
	/* Settings that there was no time for. */
	size_t left;
	/* Bytes a second of the disk, and threads, that data are for. */
	uint64_t disk;
	unsigned int nthreads;
	/* The row that suits them; NULL: there are no rows. */
	const struct cli_bench_row *best;
};

/*
 * Finds the front and the best row, and sorts the rows by ratio.  The best one
 * takes least time to be encoded, written to the disk, read, and decoded.
 */
void cli_bench_result_judge(struct cli_bench_result *result);

/* Estimates the ratio of all data by the sample's. */
double cli_bench_ratio(const struct cli_bench_result *result,
		       const struct cli_bench_row *row);

/* Bytes a second, for @ns that all tried data took. */
double cli_bench_speed(const struct cli_bench_result *result, uint64_t ns);

/* Says the front, or with @all or --json every row, and the best command line. */
void cli_bench_print(const struct cli_bench_result *result, bool all);

#endif
