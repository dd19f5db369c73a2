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

#include "b2frame/create.h"
#include "cli/options.h"

/* Values of one option, at most. */
#define CLI_BENCH_VALUES 16

struct cli_bench_filters {
	uint8_t ids[B2F_SLOTS];
	uint8_t metas[B2F_SLOTS];
};

/* Zero-initialize it. */
struct cli_bench_grid {
	uint8_t codecs[CLI_BENCH_VALUES];
	uint8_t levels[CLI_BENCH_VALUES];
	struct cli_bench_filters filters[CLI_BENCH_VALUES];
	uint32_t typesizes[CLI_BENCH_VALUES];
	int32_t chunksizes[CLI_BENCH_VALUES];
	size_t ncodecs;
	size_t nlevels;
	size_t nfilters;
	size_t ntypesizes;
	size_t nchunksizes;
	/* The item size that the data tell is one of them. */
	bool guess;
};

/*
 * Rows for struct cli_bench_grid: options of encoding.h, each of which may be given
 * several times.
 */
extern const struct cli_option cli_bench_grid_options[];

/*
 * Puts the usual values where the user gave none: @typesize is what the data tell,
 * @size how many bytes are tried.  Chunks above that are one chunk.
 */
void cli_bench_grid_complete(struct cli_bench_grid *grid, uint32_t typesize,
			     uint64_t size);

/* How many there are. */
size_t cli_bench_grid_count(const struct cli_bench_grid *grid);

/*
 * The one of number @i; those that tell most come first.  Returns false if it is
 * the same as another one.
 */
bool cli_bench_grid_get(const struct cli_bench_grid *grid, size_t i,
			struct b2f_settings *out);

#endif
