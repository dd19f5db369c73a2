/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_plot.h - a picture of what bloscctl bench has measured, by gnuplot
 *
 * All of these say on stderr why they failed, and return a negative errno.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_BENCH_PLOT_H
#define B2F_CLI_BENCH_PLOT_H

#include "b2frame/error.h"
#include "cli/bench_result.h"

/* Before anything is measured: is there gnuplot, and a directory for @path? */
B2F_MUST_CHECK
int cli_bench_plot_check(const char *path);

/* Ratio over both speeds, one colour per codec, as the PNG file @path. */
B2F_MUST_CHECK
int cli_bench_plot(const struct cli_bench_result *result, const char *path);

#endif
