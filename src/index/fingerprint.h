/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fingerprint.h - checksums of an index, where the format has room for one
 *
 * The trailer ends in 16 bytes that C-Blosc2 ignores; it writes them as zeros
 * of type 0.  In an index of ours they are of B2F_FINGERPRINT_TYPE, _OLD or
 * _SMALL, and hold, little endian,
 *
 *   u64   XXH3-64 of the trailer up to the type; its seed is the XXH3-64 of the
 *         index chunk, whose seed is the XXH3-64 of the header's fixed fields
 *   u64   XXH3-64 of the metalayers, which C-Blosc2 may write in place
 *
 * The first leaves out the numbers of threads, and fixed fields that do not
 * concern the data: C-Blosc2 changes them together with the metalayers.
 *
 * The numbers of threads become a mark, which shows that the metalayers are as
 * bloscfs wrote them: C-Blosc2 does not read these numbers, and writes its own
 * whenever it writes metalayers.
 *
 * Layer: index.  May include: base/ chunk/.  Threads: pure functions.
 */
#ifndef B2F_INDEX_FINGERPRINT_H
#define B2F_INDEX_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The compressed size includes b2f_index_margin(). */
#define B2F_FINGERPRINT_TYPE 4
/* The compressed size may have no margin. */
#define B2F_FINGERPRINT_OLD 3

/*
 * Stands in the place of the type while our writer changes a contiguous frame;
 * there is no fingerprint then.  A foreign writer that puts a new trailer there
 * removes it, so our writer notices (txn/single_commit.c).
 */
#define B2F_FINGERPRINT_CLAIMED 5

/*
 * Like B2F_FINGERPRINT_TYPE, for a contiguous frame that was made as a new
 * file: its first sector has room for longer metalayers.
 */
#define B2F_FINGERPRINT_SMALL 6

/*
 * _SMALL before its first commit: its form may still change (file/file_form.c).
 */
#define B2F_FINGERPRINT_EMPTY 7

/* Bytes of a whole index that has a fingerprint, at its end. */
#define B2F_FINGERPRINT_TAIL 17

/*
 * Puts fingerprint and mark into the whole index of @size bytes at @index,
 * which was made by b2f_index_write() or has no chunks.
 */
void b2f_fingerprint_set(uint8_t *index, size_t size, size_t header_len,
			 uint8_t type);

/* Has a trailer of @type a fingerprint? */
bool b2f_fingerprint_has_sums(uint8_t type);

/* Do changed metalayers count as damage, as @header has the mark? */
bool b2f_fingerprint_covers_meta(const uint8_t *header);

enum b2f_fingerprint {
	B2F_FINGERPRINT_NONE,
	B2F_FINGERPRINT_GOOD,
	/* Only the metalayers differ: C-Blosc2 may have changed them. */
	B2F_FINGERPRINT_OTHER_META,
	/* Only the metalayers differ, and they are damaged. */
	B2F_FINGERPRINT_BAD_META,
	B2F_FINGERPRINT_BAD,
};

/* The parts of an index. */
struct b2f_fingerprint_parts {
	const uint8_t *header;
	size_t header_len;
	/* The index chunk; may be of 0 bytes. */
	const uint8_t *chunk;
	size_t chunk_size;
	const uint8_t *trailer;
	size_t trailer_len;
};

enum b2f_fingerprint
b2f_fingerprint_check(const struct b2f_fingerprint_parts *parts);

#endif
