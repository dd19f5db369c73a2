/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_grid.h - the settings that bloscctl bench tries
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_BENCH_GRID_H
#define B2F_CLI_BENCH_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/encoding.h"

/* Maximal number of values per option. */
#define CLI_BENCH_VALUES 16

/* The order in which they vary: the first one most often. */
enum cli_bench_kind {
	CLI_BENCH_CODEC,
	CLI_BENCH_FILTER,
	CLI_BENCH_LEVEL,
	CLI_BENCH_TYPESIZE,
	CLI_BENCH_CHUNKSIZE,
	CLI_BENCH_LISTS,
};

/* Zero-initialize it. */
struct cli_bench_grid {
	struct cli_bench_list {
		struct cli_encoding values[CLI_BENCH_VALUES];
		size_t n;
	} lists[CLI_BENCH_LISTS];
};

/*
 * Rows for struct cli_bench_grid: options of encoding.h, each of which may be given
 * several times.
 */
extern const struct cli_option cli_bench_grid_options[];

/*
 * Fills in the usual values where the user gave none: @typesize is guessed from
 * the data, @size is the number of bytes to try.  Larger chunk sizes count as
 * one chunk.
 */
void cli_bench_grid_complete(struct cli_bench_grid *grid, uint32_t typesize,
			     uint64_t size);

/* Number of combinations. */
size_t cli_bench_grid_count(const struct cli_bench_grid *grid);

/*
 * Combination number @i; the most useful ones come first.  Returns false if it
 * equals another one.
 */
bool cli_bench_grid_get(const struct cli_bench_grid *grid, size_t i,
			struct b2f_settings *out);

#endif
