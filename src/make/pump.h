/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pump.h - chunks from somewhere to somewhere else, on all workers
 *
 * The steps decide what is done with a chunk.  Ordered steps run one at a time,
 * in the order of the chunks; all others run on all threads.  A chunk that is
 * made before those in front of it waits in a window, which bounds the memory.
 *
 * Layer: make.  May include: base/ run/.  Threads: one at a time for each pump.
 */
#ifndef B2F_MAKE_PUMP_H
#define B2F_MAKE_PUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "run/pool.h"

/*
 * A chunk that passes through the steps; before the first one all but @nchunk
 * is zero.
 */
struct b2f_piece {
	/* Number of the chunk. */
	uint64_t nchunk;
	/* Its data, if they are in memory; malloc'ed. */
	uint8_t *data;
	/* Its stored bytes, malloc'ed; NULL if it is an entry alone. */
	uint8_t *bytes;
	/* The length of the stored chunk, alone and with its seal. */
	uint32_t cbytes;
	size_t size;
	/* Decoded bytes. */
	uint32_t nbytes;
	/* The chunk is not stored at the target. */
	bool left_out;
	/* Its entry, and its place in a file; the steps choose the origin. */
	uint64_t raw;
	uint64_t place;
};

/* This chunk, and all behind it, do not exist. */
#define B2F_PUMP_END 1

/* The steps; all but make() may be NULL. An error of one ends the run. */
struct b2f_pump_steps {
	/* In order: begins the chunk, or returns B2F_PUMP_END. */
	int (*take)(void *arg, struct b2f_piece *piece);
	/* Makes the stored bytes; called by any thread. */
	int (*make)(void *arg, struct b2f_piece *piece);
	/* In order, and without I/O: gives the chunk its place. */
	int (*place)(void *arg, struct b2f_piece *piece);
	/*
	 * Stores the chunk at the target; called by any thread, in any order.
	 */
	int (*put)(void *arg, struct b2f_piece *piece);
	/* Called after the chunk was stored, one call at a time. */
	void (*stored)(void *arg, const struct b2f_piece *piece);
};

/*
 * Takes up to @n chunks through @steps, @window (>= 1) of them in memory at a
 * time; without place() one per thread.  Frees chunks that an error stopped.
 * Without @pool the calling thread does all, one chunk at a time.
 *
 * Returns 0, -ENOMEM, or the error of the first chunk that failed.
 */
B2F_MUST_CHECK
int b2f_pump_run(struct b2f_pool *pool, const struct b2f_pump_steps *steps,
		 void *arg, uint64_t n, size_t window);

/*
 * How many of @n chunks, with @nbytes decoded bytes together, may be in memory
 * at once in stored form.
 */
size_t b2f_pump_window(uint64_t n, uint64_t nbytes);

#endif
