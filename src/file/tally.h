/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tally.h - counts encoded and decoded bytes, and their time
 *
 * Layer: file.  May include: base/ frame/.  Threads: any; counters order
 * nothing.
 */
#ifndef B2F_FILE_TALLY_H
#define B2F_FILE_TALLY_H

#include <stdatomic.h>
#include <stdint.h>

#include "b2frame/runtime.h"

struct b2f_loaded;

/* Counts of a codec; the fields are those of struct b2f_codec_stats. */
struct b2f_tally {
	_Atomic uint64_t decoded_bytes;
	_Atomic uint64_t decode_ns;
	_Atomic uint64_t encoded_bytes;
	_Atomic uint64_t stored_bytes;
	_Atomic uint64_t encode_ns;
};

/* Counts @nbytes of the chunk @loaded, read and decoded since @start_ns. */
void b2f_tally_decoded(struct b2f_tally tally[B2F_STATS_CODECS],
		       const struct b2f_loaded *loaded, uint64_t nbytes,
		       uint64_t start_ns);

/*
 * Counts a chunk of @nbytes that codec @code encoded to @cbytes, and that was
 * written, since @start_ns.
 */
void b2f_tally_encoded(struct b2f_tally tally[B2F_STATS_CODECS],
		       unsigned int code, uint64_t nbytes, uint64_t cbytes,
		       uint64_t start_ns);

void b2f_tally_get(struct b2f_tally tally[B2F_STATS_CODECS],
		   struct b2f_codec_stats out[B2F_STATS_CODECS]);

#endif
