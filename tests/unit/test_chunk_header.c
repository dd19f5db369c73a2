/* SPDX-License-Identifier: BSD-3-Clause */
/* test_chunk_header.c - chunk headers: parsed or refused */
#include <criterion/criterion.h>

#include "chunk/chunk_header.h"
#include "codec/codec.h"
#include "tests/support/hex.h"
#include "tests/support/vectors.h"

/* Parses @digits after setting byte @at to @value. */
static int parse_with(const char *digits, size_t at, uint8_t value,
		      struct b2f_chunk_header *h)
{
	struct hex raw = hex_new(digits);
	int err;

	raw.data[at] = value;
	err = b2f_chunk_header_parse(raw.data, raw.size, h, NULL);
	hex_free(&raw);
	return err;
}

Test(chunk_header, fields_of_a_split_lz4_chunk)
{
	struct b2f_chunk_header h;

	cr_assert_eq(parse_with(HEX_LZ4_SHUFFLE_SPLIT_RUNS, 0, 5, &h), 0);
	cr_assert_eq(h.header_len, 32);
	cr_assert_eq(h.nbytes, 160);
	cr_assert_eq(h.blocksize, 160);
	cr_assert_eq(h.cbytes, 92);
	cr_assert_eq(h.typesize, 4);
	cr_assert_eq(h.format, B2F_FORMAT_LZ4);
	cr_assert(h.split);
	cr_assert_not(h.memcpyed);
	cr_assert_eq(h.pipeline.filter[5], B2F_FILTER_SHUFFLE);
}

Test(chunk_header, flags_say_blosc1_whatever_the_version)
{
	struct b2f_chunk_header h;

	cr_assert_eq(parse_with(HEX_BLOSC1_HEADER, 0, 2, &h), 0);
	cr_assert_eq(h.header_len, 16);
	cr_assert_eq(h.pipeline.filter[5], B2F_FILTER_SHUFFLE);
	/* In a longer header version 2 means nothing, nor splitting by rule. */
	cr_assert_eq(parse_with(HEX_LZ4_SHUFFLE_SPLIT_RUNS, 0, 2, &h), 0);
	cr_assert_eq(h.header_len, 32);
	cr_assert(h.split);
	/* Shuffle of single bytes does nothing. */
	cr_assert_eq(parse_with(HEX_BLOSC1_HEADER, 3, 1, &h), 0);
	cr_assert_eq(h.pipeline.filter[5], B2F_FILTER_NONE);
	/* Flag bits 2 and 3: bitshuffle, and delta before it. */
	cr_assert_eq(parse_with(HEX_BLOSC1_HEADER, 2, 0x2c, &h), 0);
	cr_assert_eq(h.pipeline.filter[5], B2F_FILTER_BITSHUFFLE);
	cr_assert_eq(h.pipeline.filter[4], B2F_FILTER_DELTA);
}

Test(chunk_header, a_block_is_never_longer_than_the_chunk)
{
	struct b2f_chunk_header h;

	/* Block size 96 becomes 0x160. */
	cr_assert_eq(parse_with(HEX_BLOSCLZ_NOSPLIT, 9, 1, &h), 0);
	cr_assert_eq(h.blocksize, h.nbytes);
}

Test(chunk_header, version_3_has_five_filter_slots)
{
	struct b2f_chunk_header h;

	cr_assert_eq(parse_with(HEX_LZ4_SHUFFLE_SPLIT_RUNS, 0, 3, &h), 0);
	cr_assert_eq(h.pipeline.filter[5], 0);
}

Test(chunk_header, the_future_is_unsupported_rather_than_corrupt)
{
	struct b2f_chunk_header h;

	cr_assert_eq(parse_with(HEX_ZSTD, 0, 7, &h), B2F_EUNSUPPORTED);
	cr_assert_eq(parse_with(HEX_ZSTD, 0x1e, 2, &h), B2F_EUNSUPPORTED);
	cr_assert_eq(parse_with(HEX_ZSTD, 0x1f, 0x80, &h), B2F_EUNSUPPORTED,
		     "instrumented");
}

Test(chunk_header, nonsense_is_corrupt)
{
	struct b2f_chunk_header h;

	cr_assert_eq(parse_with(HEX_ZSTD, 0, 0, &h), B2F_ECORRUPT, "version");
	cr_assert_eq(parse_with(HEX_ZSTD, 3, 0, &h), B2F_ECORRUPT, "typesize");
	cr_assert_eq(parse_with(HEX_ZSTD, 7, 0x80, &h), B2F_ECORRUPT,
		     "negative nbytes");
	cr_assert_eq(parse_with(HEX_ZSTD, 11, 0x80, &h), B2F_ECORRUPT,
		     "negative blocksize");
	cr_assert_eq(parse_with(HEX_ZSTD, 8, 0, &h), B2F_ECORRUPT,
		     "blocksize 0");
	cr_assert_eq(parse_with(HEX_ZSTD, 11, 0x20, &h), B2F_ECORRUPT,
		     "blocksize above the largest");
	cr_assert_eq(parse_with(HEX_ZSTD, 12, 31, &h), B2F_ECORRUPT,
		     "cbytes below the header");
	cr_assert_eq(parse_with(HEX_ZSTD, 15, 0x80, &h), B2F_ECORRUPT,
		     "negative cbytes");
	cr_assert_eq(parse_with(HEX_ZSTD, 0x1f, 0x08, &h), B2F_ECORRUPT,
		     "a lazy chunk on disk");
	cr_assert_eq(parse_with(HEX_ZSTD, 0x1f, 0x50, &h), B2F_ECORRUPT,
		     "special kind 5");
}

Test(chunk_header, kinds_that_exclude_each_other_are_corrupt)
{
	struct b2f_chunk_header h;

	cr_assert_eq(parse_with(HEX_MEMCPYED_CLEVEL0, 4, 0x27, &h),
		     B2F_ECORRUPT, "stored bytes of another length");
	cr_assert_eq(parse_with(HEX_MEMCPYED_CLEVEL0, 0x1f, 0x10, &h),
		     B2F_ECORRUPT, "special and stored");
	cr_assert_eq(parse_with(HEX_VL_BLOCKS, 2, 0x37, &h), B2F_ECORRUPT,
		     "VL blocks stored as they are");
	cr_assert_eq(parse_with(HEX_VL_BLOCKS, 0x1f, 0x10, &h), B2F_ECORRUPT,
		     "VL blocks in a special chunk");
	cr_assert_eq(parse_with(HEX_VL_BLOCKS, 2, 0x25, &h), B2F_ECORRUPT,
		     "VL blocks that are split");
}

Test(chunk_header, special_chunks_have_whole_items)
{
	struct b2f_chunk_header h;

	cr_assert_eq(parse_with(HEX_SPECIAL_NAN_F4, 3, 2, &h), B2F_ECORRUPT,
		     "NaNs of two bytes");
	cr_assert_eq(parse_with(HEX_SPECIAL_NAN_F4, 4, 7, &h), B2F_ECORRUPT,
		     "a NaN and three quarters");
	cr_assert_eq(parse_with(HEX_SPECIAL_UNINIT, 4, 0x41, &h), B2F_ECORRUPT);
	cr_assert_eq(parse_with(HEX_SPECIAL_ZEROS, 4, 0x41, &h), 0,
		     "zeros of any length");
	cr_assert_eq(parse_with(HEX_SPECIAL_VALUE, 4, 13, &h), B2F_ECORRUPT,
		     "a value and a part of one");
	cr_assert_eq(parse_with(HEX_SPECIAL_VALUE, 4, 2, &h), B2F_ECORRUPT,
		     "less than one value");
	cr_assert_eq(parse_with(HEX_SPECIAL_VALUE, 12, 32, &h), B2F_ECORRUPT,
		     "no value at all");
}
