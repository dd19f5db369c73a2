/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.h - measures size, time and memory of settings on data
 *
 * Layer: for bloscfs and bloscctl alone (made by frame/).  Threads: any; speeds
 * are those of one thread.
 */
#ifndef B2F_PROGRAMS_MEASURE_H
#define B2F_PROGRAMS_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "b2frame/create.h"

/* The time and the memory that one thread needs for the data. */
struct b2f_measured {
	/* Stored bytes, with those that the index has of each chunk. */
	uint64_t cbytes;
	/* CPU time of the thread. */
	uint64_t encode_ns;
	uint64_t decode_ns;
	/*
	 * Bytes in memory meanwhile: states of the codecs, blocks, one chunk
	 * stored and decoded; 0 if the C library does not tell.
	 */
	uint64_t memory;
};

/*
 * Encodes the @size (> 0) bytes at @data in chunks, as @settings (with a chunk
 * size) say, and decodes them again, each until @least_ns have passed, and once
 * at least; the shortest time counts.  In memory are also the stored chunks.
 *
 * Returns 0; -EINVAL (settings that cannot be), -ENOMEM, or -EIO: the data that
 * came back are others.
 */
B2F_MUST_CHECK
int b2f_settings_measure(const struct b2f_settings *settings, const void *data,
			 size_t size, uint64_t least_ns,
			 struct b2f_measured *out);

#endif
