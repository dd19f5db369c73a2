/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_plot.h - a picture of the results of bloscctl bench, by gnuplot
 *
 * All of these print the cause on stderr if they fail, and return a negative
 * errno.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_BENCH_PLOT_H
#define B2F_CLI_BENCH_PLOT_H

#include "b2frame/error.h"
#include "cli/bench_result.h"

/* Call before measuring: is there gnuplot, and a directory for @path? */
B2F_MUST_CHECK
int cli_bench_plot_check(const char *path);

/* Plots ratio over both speeds, one colour per codec, to the PNG file @path. */
B2F_MUST_CHECK
int cli_bench_plot(const struct cli_bench_result *result, const char *path);

#endif
