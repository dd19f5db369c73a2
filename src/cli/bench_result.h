/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_result.h - the results of bloscctl bench, and their judgement
 *
 * A row is on the *front* if no other one is as good in ratio and both speeds,
 * and better in one of them.
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
	/* Size of the file, and bytes that were tried. */
	uint64_t total;
	uint64_t size;
	struct cli_bench_row *rows;
	size_t n;
	/* Number of settings left out for lack of time. */
	size_t left;
	/* Speed of the disk in bytes/s, and number of threads, to judge for. */
	uint64_t disk;
	unsigned int nthreads;
	/* The best row for these; NULL: there are no rows. */
	const struct cli_bench_row *best;
};

/*
 * Finds the front and the best row, and sorts the rows by ratio.  The best row
 * takes least time to encode, write to the disk, read, and decode.
 */
void cli_bench_result_judge(struct cli_bench_result *result);

/* Estimates the ratio of the whole file from the sample's. */
double cli_bench_ratio(const struct cli_bench_result *result,
		       const struct cli_bench_row *row);

/* Bytes per second, if all tried data took @ns. */
double cli_bench_speed(const struct cli_bench_result *result, uint64_t ns);

/* Prints the front (@all or --json: every row) and the best command line. */
void cli_bench_print(const struct cli_bench_result *result, bool all);

#endif
