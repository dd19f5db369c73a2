/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fingerprint.h - checksums of an index, where the format has room for one
 *
 * The trailer ends in 16 bytes that C-Blosc2 does not look at; when it writes a
 * trailer it makes them zeros of type 0.  In an index of ours they are of
 * B2F_FINGERPRINT_TYPE and hold, little endian,
 *
 *   u64   XXH3-64 of the fixed header, and of everything behind the metalayers
 *         up to the fingerprint's type
 *   u64   XXH3-64 of the metalayers, which C-Blosc2 may write in place
 *
 * Layer: index.  May include: base/ chunk/.  Threads: pure functions.
 */
#ifndef B2F_INDEX_FINGERPRINT_H
#define B2F_INDEX_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define B2F_FINGERPRINT_TYPE 3

/* Bytes of a whole index that has a fingerprint, at its end. */
#define B2F_FINGERPRINT_TAIL 17

/* Puts the fingerprint into the whole index of @size bytes at @index. */
void b2f_fingerprint_set(uint8_t *index, size_t size, size_t header_len);

enum b2f_fingerprint {
	B2F_FINGERPRINT_NONE,
	B2F_FINGERPRINT_GOOD,
	/* Only the metalayers differ. */
	B2F_FINGERPRINT_OTHER_META,
	B2F_FINGERPRINT_BAD,
};

/*
 * Checks the whole index whose header of @header_len bytes is at @header, and
 * whose @size bytes behind that are at @rest.
 */
enum b2f_fingerprint b2f_fingerprint_check(const uint8_t *header,
					   size_t header_len,
					   const uint8_t *rest, size_t size);

#endif
