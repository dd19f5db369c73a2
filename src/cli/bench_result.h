/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_result.h - the results of bloscctl bench, judged, printed and plotted
 *
 * A row is on the *front* if no other one is as good in ratio and both speeds,
 * and better in one of them.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_BENCH_RESULT_H
#define B2F_CLI_BENCH_RESULT_H

#include <jansson.h>
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
	/* The file is a frame; an array, which keeps its type and chunks. */
	bool encodes_again;
	bool keeps_sizes;
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
};

/*
 * Finds the front and the best row, and describes the result; free it.  Rows
 * are sorted by ratio, which is that of the sample.  The best row takes least
 * time to encode, write to the disk, read, and decode.
 */
json_t *cli_bench_judge(struct cli_bench_result *result);

/*
 * Prints the front (@all or --json: every row) and the best command line of the
 * result @object for @path, and frees it.
 */
void cli_bench_print(const char *path, json_t *object, bool all);

/* Call before measuring: is there gnuplot, and a directory for @path? */
B2F_MUST_CHECK
int cli_bench_plot_check(const char *path);

/*
 * Plots ratio over both speeds, one colour per codec, of the rows @rows to the
 * PNG file @path.  Like cli_bench_plot_check(), prints the cause if it fails.
 */
B2F_MUST_CHECK
int cli_bench_plot(const char *title, const json_t *rows, const char *path);

#endif
