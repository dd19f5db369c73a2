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

/* A chunk on its way; zero, but for @nchunk, before the first step. */
struct b2f_piece {
	/* Number of the chunk. */
	uint64_t nchunk;
	/* Its data, if they are in memory; malloc'ed. */
	uint8_t *data;
	/* The same as they are stored, malloc'ed; NULL if it is an entry alone. */
	uint8_t *bytes;
	/* How long it is, and so many bytes are there, with its seal. */
	uint32_t cbytes;
	size_t size;
	/* Decoded bytes. */
	uint32_t nbytes;
	/* It is not to be at the target. */
	bool left_out;
	/* Its entry, and where it is in a file, from a point that the steps know. */
	uint64_t raw;
	uint64_t place;
};

/* The chunk, and all behind it, does not exist. */
#define B2F_PUMP_END 1

/* The steps; all but make() may be NULL.  They return 0 or an error, which ends all. */
struct b2f_pump_steps {
	/* In order: begins the chunk.  Or B2F_PUMP_END. */
	int (*take)(void *arg, struct b2f_piece *piece);
	/* By any thread: makes the stored bytes. */
	int (*make)(void *arg, struct b2f_piece *piece);
	/* In order, and without I/O: gives it its place. */
	int (*place)(void *arg, struct b2f_piece *piece);
	/* By any thread, in any order: stores it at the target. */
	int (*put)(void *arg, struct b2f_piece *piece);
	/* One at a time: it was stored. */
	void (*stored)(void *arg, const struct b2f_piece *piece);
};

/*
 * Takes up to @n chunks through @steps, @window (>= 1) of them in memory at a
 * time; without place() one for each thread.  Frees the chunks that did not
 * come through.  Without @pool the calling thread does it all, one chunk at a time.
 *
 * Returns 0, -ENOMEM, or the error of the first chunk that failed.
 */
B2F_MUST_CHECK
int b2f_pump_run(struct b2f_pool *pool, const struct b2f_pump_steps *steps,
		 void *arg, uint64_t n, size_t window);

/*
 * How many of @n chunks with @nbytes decoded bytes together may be in memory at once,
 * as they are stored.
 */
size_t b2f_pump_window(uint64_t n, uint64_t nbytes);

#endif
