/* SPDX-License-Identifier: BSD-3-Clause */
/* test_chunk.c - decodes chunks made by C-Blosc2 */
#include <criterion/criterion.h>

#include "chunk/chunk.h"
#include "tests/support/hex.h"
#include "tests/support/own.h"
#include "tests/support/vectors.h"

static const struct b2f_chunk_context no_frame;

struct decoded {
	struct b2f_chunk chunk;
	uint8_t *data;
	int err;
	struct b2f_why why;
};

static struct decoded decode(const char *digits)
{
	struct decoded d = {.err = 0};
	struct b2f_decoder *dec = NULL;
	struct hex raw = hex_new(digits);

	cr_assert_eq(b2f_decoder_new(&dec), 0);
	d.err = b2f_chunk_open(raw.data, raw.size, raw.size, &no_frame,
			       &d.chunk, &d.why);
	if (!d.err) {
		d.data = malloc(d.chunk.header.nbytes + 1);
		d.err = b2f_chunk_decode_all(&d.chunk, dec, raw.data, d.data,
					     &d.why);
	}
	b2f_decoder_free(dec);
	hex_free(&raw);
	return d;
}

/* Decodes @digits, and compares each byte with @expected() of its index. */
static void expect(const char *digits, size_t n, uint8_t (*expected)(size_t))
{
	struct decoded d = decode(digits);

	cr_assert_eq(d.err, 0, "%s", d.why.text);
	cr_assert_eq(d.chunk.header.nbytes, n);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(d.data[i], expected(i), "byte %zu", i);
	free(d.data);
}

static uint8_t zero(size_t i)
{
	(void)i;
	return 0;
}

static uint8_t index_of(size_t i)
{
	return (uint8_t)i;
}

static uint8_t of_text(size_t i, const char *text)
{
	return (uint8_t)text[i % strlen(text)];
}

static uint8_t blosc2(size_t i)
{
	return of_text(i, "Blosc2!!");
}

static uint8_t nan_float(size_t i)
{
	static const uint8_t b[] = {0, 0, 0xc0, 0x7f};

	return b[i % 4];
}

static uint8_t nan_double(size_t i)
{
	static const uint8_t b[] = {0, 0, 0, 0, 0, 0, 0xf8, 0x7f};

	return b[i % 8];
}

static uint8_t xyz(size_t i)
{
	return of_text(i, "xyz");
}

static uint8_t letters(size_t i)
{
	return of_text(i, "abcdefgh");
}

static uint8_t digits_and_x(size_t i)
{
	if (i < 10)
		return (uint8_t)('0' + i);
	return i < 90 ? 'x' : (uint8_t)('9' - (i - 90));
}

static uint8_t int32_count(size_t i)
{
	return (uint8_t)(i % 4 ? 0 : i / 4);
}

static uint8_t int32_same(size_t i)
{
	static const uint8_t b[] = {0, 1, 0, 5};

	return b[i % 4];
}

static uint8_t int16_by_3(size_t i)
{
	return (uint8_t)((3 * (i / 2)) >> (8 * (i % 2)));
}

static uint8_t fox(size_t i)
{
	return of_text(i, "the quick brown fox ");
}

static uint8_t int32_from_1000(size_t i)
{
	return (uint8_t)((1000 + i / 4) >> (8 * (i % 4)));
}

static uint8_t int32_by_7(size_t i)
{
	return (uint8_t)((7 * (i / 4)) >> (8 * (i % 4)));
}

static uint8_t with_tail(size_t i)
{
	return (uint8_t)(i % 3 == 0 ? 7 : i % 3 == 1 ? 0 : i);
}

static uint8_t f0_01(size_t i)
{
	return i % 2 ? 1 : 0xf0;
}

static uint8_t vl_text(size_t i)
{
	if (i < 32)
		return 'a';
	return i < 34 ? (uint8_t)("bc"[i - 32]) : of_text(i - 34, "hello ");
}

Test(chunk, bytes_stored_as_they_are)
{
	expect(HEX_MEMCPYED_SHORT, 8, blosc2);
	expect(HEX_MEMCPYED_CLEVEL0, 40, index_of);
	expect(HEX_SFRAME_00000000_CHUNK, 64, index_of);
}

Test(chunk, an_empty_chunk_has_no_units)
{
	struct decoded d = decode(HEX_ZERO_LENGTH);

	cr_assert_eq(d.err, 0);
	cr_assert_eq(d.chunk.header.nbytes, 0);
	cr_assert_eq(d.chunk.nunits, 0);
	free(d.data);
}

Test(chunk, an_empty_chunk_may_claim_to_be_special)
{
	/* C-Blosc2 writes such flags; kind 3 has no value to repeat here. */
	static const char kinds[] = "01234";

	for (int i = 0; kinds[i]; i++) {
		char digits[] = HEX_ZERO_LENGTH;
		struct decoded d;

		digits[62] = kinds[i];
		d = decode(digits);
		cr_assert_eq(d.err, 0, "kind %c: %s", kinds[i], d.why.text);
		cr_assert_eq(d.chunk.header.nbytes, 0);
		free(d.data);
	}
}

Test(chunk, special_chunks_are_made_from_nothing)
{
	expect(HEX_SPECIAL_ZEROS, 64, zero);
	expect(HEX_SPECIAL_NAN_F4, 8, nan_float);
	expect(HEX_SPECIAL_NAN_F8, 8, nan_double);
	expect(HEX_SPECIAL_VALUE, 12, xyz);
	expect(HEX_SPECIAL_UNINIT, 64, zero);
	expect(HEX_ALL_ZERO_REGULAR, 64, zero);
}

Test(chunk, blosclz_with_and_without_a_run)
{
	expect(HEX_BLOSCLZ_NOSPLIT, 96, letters);
	expect(HEX_BLOSCLZ_RUN, 100, digits_and_x);
}

Test(chunk, split_blocks_with_runs)
{
	expect(HEX_LZ4_SHUFFLE_SPLIT_RUNS, 160, int32_count);
	expect(HEX_RUNS_SPLIT_SHORT_LAST, 152, int32_same);
}

Test(chunk, zlib_and_zstd)
{
	expect(HEX_ZLIB_BITSHUFFLE, 80, int16_by_3);
	expect(HEX_ZSTD, 120, fox);
}

Test(chunk, filters_that_look_at_neighbours)
{
	expect(HEX_DELTA_3_BLOCKS, 120, int32_from_1000);
	expect(HEX_SHUFFLE_BYTEDELTA, 128, int32_by_7);
}

Test(chunk, tails_behind_the_last_whole_element)
{
	expect(HEX_SHUFFLE_TAIL, 49, with_tail);
	expect(HEX_BITSHUFFLE_TAIL, 45, f0_01);
}

Test(chunk, blocks_of_different_lengths)
{
	expect(HEX_VL_BLOCKS, 69, vl_text);
}

Test(chunk, a_header_of_blosc1)
{
	expect(HEX_BLOSC1_HEADER, 160, int32_count);
}

Test(chunk, every_prefix_of_a_chunk_is_refused)
{
	static const char *const all[] = {
		HEX_MEMCPYED_SHORT,
		HEX_SPECIAL_VALUE,
		HEX_LZ4_SHUFFLE_SPLIT_RUNS,
		HEX_ZSTD,
		HEX_VL_BLOCKS,
		HEX_BLOSC1_HEADER,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct hex raw = hex_new(all[i]);

		for (size_t n = 0; n < raw.size; n++) {
			uint8_t *part = malloc(n + 1);
			struct b2f_chunk chunk;

			memcpy(part, raw.data, n);
			cr_assert_eq(b2f_chunk_open(part, n, n, &no_frame,
						    &chunk, NULL),
				     B2F_ECORRUPT, "%zu bytes", n);
			free(part);
		}
		hex_free(&raw);
	}
}

Test(chunk, a_special_entry_is_cut_into_units)
{
	const struct b2f_chunk_context context = {.typesize = 8};
	struct b2f_decoder *dec = NULL;
	struct b2f_chunk chunk;
	uint32_t n = B2F_FLAT_UNIT + 16;
	OWN(free) uint8_t *buf = malloc(B2F_FLAT_UNIT);

	cr_assert_eq(b2f_decoder_new(&dec), 0);
	cr_assert_eq(b2f_chunk_open_special(B2F_SPECIAL_NAN, n, &context,
					    &chunk, NULL),
		     0);
	cr_assert_eq(chunk.nunits, 2);
	cr_assert_eq(b2f_chunk_unit_nbytes(&chunk, 1), 16);
	cr_assert_eq(b2f_chunk_decode_unit(&chunk, dec,
					   &(struct b2f_stored_unit){.unit = 1},
					   buf, NULL),
		     0);
	for (size_t i = 0; i < 16; i++)
		cr_assert_eq(buf[i], nan_double(i));
	b2f_decoder_free(dec);
}

Test(chunk, nan_entries_need_a_float_type)
{
	const struct b2f_chunk_context context = {.typesize = 2};
	struct b2f_chunk chunk;

	cr_assert_eq(b2f_chunk_open_special(B2F_SPECIAL_NAN, 16, &context,
					    &chunk, NULL),
		     B2F_ECORRUPT);
}
