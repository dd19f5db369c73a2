/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_bad_chunks.c - each check of a chunk's body has a crafted chunk
 *
 * A row takes a sound chunk, writes a few bytes over it, and says which error
 * and which cause must come out.  (Bad headers: unit/test_chunk_header.c.)
 */
#include <criterion/criterion.h>

#include "base/bytes.h"
#include "chunk/chunk.h"
#include "tests/support/hex.h"
#include "tests/support/vectors.h"

struct patch {
	const char *digits;
	/* Where to write, how many bytes (1 or 4, little endian), and what. */
	size_t at;
	unsigned int width;
	uint32_t value;
	int err;
	const char *cause;
};

static int decode(const struct hex *raw, struct b2f_why *why)
{
	const struct b2f_chunk_context context = {0};
	struct b2f_decoder *dec = NULL;
	struct b2f_chunk chunk;
	uint8_t *data;
	int err;

	err = b2f_chunk_open(raw->data, raw->size, raw->size, &context, &chunk,
			     why);
	if (err)
		return err;
	cr_assert_lt(chunk.header.nbytes, 1u << 20);
	cr_assert_eq(b2f_decoder_new(&dec), 0);
	data = malloc(chunk.header.nbytes + (size_t)1);
	err = b2f_chunk_decode_all(&chunk, dec, raw->data, data, why);
	free(data);
	b2f_decoder_free(dec);
	return err;
}

static void expect(const struct patch *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct hex raw = hex_new(rows[i].digits);
		struct b2f_why why = {""};
		int err;

		cr_assert_eq(decode(&raw, &why), 0, "row %zu was not sound", i);
		if (rows[i].width == 4)
			b2f_store_le32(raw.data + rows[i].at, rows[i].value);
		else
			raw.data[rows[i].at] = (uint8_t)rows[i].value;
		err = decode(&raw, &why);
		cr_assert_eq(err, rows[i].err, "row %zu: %d (%s)", i, err,
			     why.text);
		cr_assert_not_null(strstr(why.text, rows[i].cause),
				   "row %zu says: %s", i, why.text);
		hex_free(&raw);
	}
}

#define EXPECT(rows) expect(rows, sizeof(rows) / sizeof(*(rows)))

Test(bad_chunks, block_tables)
{
	static const struct patch rows[] = {
		/* More blocks than stored bytes for their table. */
		{HEX_ZSTD, 8, 4, 1, B2F_ECORRUPT, "a table of 120 blocks"},
		/* It begins in the header, behind the end, nowhere. */
		{HEX_ZSTD, 32, 4, 8, B2F_ECORRUPT, "block 0 starts at 8"},
		{HEX_ZSTD, 32, 4, 73, B2F_ECORRUPT, "block 0 starts at 73"},
		{HEX_ZSTD, 32, 4, 0x80000000, B2F_ECORRUPT,
		 "block 0 starts at -2147483648"},
		{HEX_RUNS_SPLIT_SHORT_LAST, 40, 4, 101, B2F_ECORRUPT,
		 "block 2 starts at 101"},
	};

	EXPECT(rows);
}

Test(bad_chunks, stream_lengths)
{
	static const struct patch rows[] = {
		{HEX_ZSTD, 36, 4, 1000, B2F_ECORRUPT,
		 "a stream of 1000 stored bytes"},
		{HEX_ZSTD, 36, 4, 0x7fffffff, B2F_ECORRUPT,
		 "a stream of 2147483647 stored bytes"},
		/* Longer than what it would decode to. */
		{HEX_LZ4_SHUFFLE_SPLIT_RUNS, 36, 4, 41, B2F_ECORRUPT,
		 "a stream of 41 stored bytes for 40"},
		/* Runs: of a value beyond a byte, and without their token. */
		{HEX_RUNS_SPLIT_SHORT_LAST, 48, 4, (uint32_t)-256, B2F_ECORRUPT,
		 "bad run -256"},
		{HEX_RUNS_SPLIT_SHORT_LAST, 52, 1, 2, B2F_ECORRUPT,
		 "bad run -1 with token 0x02"},
	};

	EXPECT(rows);
}

Test(bad_chunks, splits_that_do_not_work_out)
{
	static const struct patch rows[] = {
		/* 160 bytes in 3 streams, and in more streams than bytes. */
		{HEX_LZ4_SHUFFLE_SPLIT_RUNS, 3, 1, 3, B2F_ECORRUPT,
		 "split in 3 streams"},
		{HEX_LZ4_SHUFFLE_SPLIT_RUNS, 3, 1, 255, B2F_ECORRUPT,
		 "split in 255 streams"},
	};

	EXPECT(rows);
}

Test(bad_chunks, codec_output)
{
	static const struct patch rows[] = {
		/* Its first byte, or a length that no longer comes out. */
		{HEX_ZSTD, 40, 1, 0x29, B2F_ECORRUPT, "zstd"},
		{HEX_ZSTD, 4, 1, 119, B2F_ECORRUPT, "zstd"},
		{HEX_ZLIB_BITSHUFFLE, 40, 1, 0x79, B2F_ECORRUPT, "zlib"},
		{HEX_BLOSCLZ_RUN, 52, 1, 0xff, B2F_ECORRUPT, "blosclz"},
		{HEX_BLOSC1_HEADER, 68, 1, 0xff, B2F_ECORRUPT, "lz4"},
	};

	EXPECT(rows);
}

Test(bad_chunks, codecs_and_filters_that_are_not_built_in)
{
	static const struct patch rows[] = {
		/* Format 6 with udcodec 0, format 5, format 2. */
		{HEX_ZSTD, 2, 1, 0xd5, B2F_EUNSUPPORTED, ""},
		{HEX_ZSTD, 2, 1, 0xb5, B2F_EUNSUPPORTED, ""},
		{HEX_ZSTD, 2, 1, 0x55, B2F_EUNSUPPORTED, ""},
		{HEX_ZSTD, 16, 1, 77, B2F_EUNSUPPORTED, "77"},
		/* Cells need the array; bytedelta 0 the frame's type size. */
		{HEX_ZSTD, 16, 1, 32, B2F_EUNSUPPORTED, ""},
		{HEX_SHUFFLE_BYTEDELTA, 0x1d, 1, 0, B2F_EUNSUPPORTED, ""},
	};

	EXPECT(rows);
}

Test(bad_chunks, variable_length_blocks)
{
	static const struct patch rows[] = {
		/* Starts must rise, stay inside, and leave the table alone. */
		{HEX_VL_BLOCKS, 36, 4, 0x2c, B2F_ECORRUPT, "ends before"},
		{HEX_VL_BLOCKS, 40, 4, 86, B2F_ECORRUPT, "ends before"},
		{HEX_VL_BLOCKS, 32, 4, 32, B2F_ECORRUPT, "inside the table"},
		/* A block of 0 bytes, of too many, and one too short. */
		{HEX_VL_BLOCKS, 44, 4, 0, B2F_ECORRUPT, "a block of 0"},
		{HEX_VL_BLOCKS, 44, 4, 70, B2F_ECORRUPT, "a block of 70"},
		{HEX_VL_BLOCKS, 4, 4, 70, B2F_ECORRUPT, "69 of 70"},
		{HEX_VL_BLOCKS, 8, 4, 1000, B2F_ECORRUPT,
		 "a table of 1000 blocks"},
	};

	EXPECT(rows);
}

Test(bad_chunks, dictionaries)
{
	/* The dictionary flag on a chunk that has none behind its table. */
	static const struct patch rows[] = {
		{HEX_BLOSCLZ_NOSPLIT, 0x1f, 1, 1, B2F_EUNSUPPORTED, "blosclz"},
		{HEX_ZSTD, 0x1f, 1, 1, B2F_ECORRUPT, "block 0 starts at 36"},
	};

	EXPECT(rows);
}
