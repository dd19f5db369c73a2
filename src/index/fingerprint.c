/* SPDX-License-Identifier: BSD-3-Clause */
/* fingerprint.c - checksums of an index, where the format has room for one */
#include "index/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"
#include "index/index.h"

/* The sum of the header's is the seed of the rest's. */
static uint64_t sum_of(const uint8_t *header, const uint8_t *rest, size_t size)
{
	return XXH3_64bits_withSeed(
		rest, size - B2F_FINGERPRINT_TAIL,
		XXH3_64bits(header, B2F_FRAME_HEADER_FIXED));
}

static uint64_t sum_of_meta(const uint8_t *header, size_t header_len)
{
	return XXH3_64bits(header + B2F_FRAME_HEADER_FIXED,
			   header_len - B2F_FRAME_HEADER_FIXED);
}

void b2f_fingerprint_set(uint8_t *index, size_t size, size_t header_len)
{
	uint8_t *tail = index + size - B2F_FINGERPRINT_TAIL;

	tail[0] = B2F_FINGERPRINT_TYPE;
	b2f_store_le64(tail + 1,
		       sum_of(index, index + header_len, size - header_len));
	b2f_store_le64(tail + 9, sum_of_meta(index, header_len));
}

enum b2f_fingerprint b2f_fingerprint_check(const uint8_t *header,
					   size_t header_len,
					   const uint8_t *rest, size_t size)
{
	const uint8_t *tail = rest + size - B2F_FINGERPRINT_TAIL;

	if (size < B2F_FINGERPRINT_TAIL || tail[0] != B2F_FINGERPRINT_TYPE)
		return B2F_FINGERPRINT_NONE;
	if (b2f_load_le64(tail + 1) != sum_of(header, rest, size))
		return B2F_FINGERPRINT_BAD;
	if (b2f_load_le64(tail + 9) != sum_of_meta(header, header_len))
		return B2F_FINGERPRINT_OTHER_META;
	return B2F_FINGERPRINT_GOOD;
}
