/* SPDX-License-Identifier: BSD-3-Clause */
/* fingerprint.c - checksums of an index, where the format has room for one */
#include "index/fingerprint.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"
#include "index/index.h"

/* Where the length of the trailer is, from the end of an index. */
#define FROM_END_TRAILER_LEN 22

/* The fields of the fixed header that describe the data. */
static const struct {
	uint8_t at, size;
} fields[] = {
	/* header_len, frame_len; flags; nbytes, cbytes; sizes; filters... */
	{11, 4}, {16, 8}, {25, 3}, {30, 8}, {39, 8},
	{48, 4}, {53, 4}, {58, 4}, {71, 6}, {77, 8},
};

/*
 * The mark: -32768 threads for compression, and for decompression.  C-Blosc2
 * has no number below 1.
 */
static const uint8_t mark[] = {0xd1, 0x80, 0, 0xd1, 0x80, 0};
#define OFF_THREADS 62

/* Is @field a number of threads that C-Blosc2 may have written? */
static bool is_count(const uint8_t *field)
{
	return field[0] == mark[0] && !(field[1] & 0x80);
}

/* A flipped bit of the mark makes no two such numbers of it. */
bool b2f_fingerprint_covers_meta(const uint8_t *header)
{
	return !is_count(header + OFF_THREADS) ||
	       !is_count(header + OFF_THREADS + sizeof(mark) / 2);
}

static uint64_t sum_of_header(const uint8_t *header)
{
	uint8_t bytes[B2F_FRAME_HEADER_FIXED];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		memcpy(bytes + n, header + fields[i].at, fields[i].size);
		n += fields[i].size;
	}
	return XXH3_64bits(bytes, n);
}

static uint64_t sum_of(const struct b2f_fingerprint_parts *parts)
{
	uint64_t sum = sum_of_header(parts->header);

	if (parts->chunk_size)
		sum = XXH3_64bits_withSeed(parts->chunk, parts->chunk_size,
					   sum);
	return XXH3_64bits_withSeed(
		parts->trailer, parts->trailer_len - B2F_FINGERPRINT_TAIL, sum);
}

static uint64_t sum_of_meta(const struct b2f_fingerprint_parts *parts)
{
	return XXH3_64bits(parts->header + B2F_FRAME_HEADER_FIXED,
			   parts->header_len - B2F_FRAME_HEADER_FIXED);
}

void b2f_fingerprint_set(uint8_t *index, size_t size, size_t header_len,
			 uint8_t type)
{
	uint8_t *tail = index + size - B2F_FINGERPRINT_TAIL;
	struct b2f_fingerprint_parts parts = {
		.header = index,
		.header_len = header_len,
		.chunk = index + header_len,
		.trailer_len =
			b2f_load_be32(index + size - FROM_END_TRAILER_LEN),
	};

	parts.chunk_size = size - header_len - parts.trailer_len;
	parts.trailer = parts.chunk + parts.chunk_size;
	memcpy(index + OFF_THREADS, mark, sizeof(mark));
	tail[0] = type;
	b2f_store_le64(tail + 1, sum_of(&parts));
	b2f_store_le64(tail + 9, sum_of_meta(&parts));
}

bool b2f_fingerprint_has_sums(uint8_t type)
{
	return type == B2F_FINGERPRINT_TYPE || type == B2F_FINGERPRINT_OLD ||
	       type == B2F_FINGERPRINT_SMALL || type == B2F_FINGERPRINT_EMPTY;
}

enum b2f_fingerprint
b2f_fingerprint_check(const struct b2f_fingerprint_parts *parts)
{
	const uint8_t *tail =
		parts->trailer + parts->trailer_len - B2F_FINGERPRINT_TAIL;

	if (!b2f_fingerprint_has_sums(tail[0]))
		return B2F_FINGERPRINT_NONE;
	if (b2f_load_le64(tail + 1) != sum_of(parts))
		return B2F_FINGERPRINT_BAD;
	if (b2f_load_le64(tail + 9) == sum_of_meta(parts))
		return B2F_FINGERPRINT_GOOD;
	return b2f_fingerprint_covers_meta(parts->header)
		       ? B2F_FINGERPRINT_BAD_META
		       : B2F_FINGERPRINT_OTHER_META;
}
