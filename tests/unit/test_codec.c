/* SPDX-License-Identifier: BSD-3-Clause */
/* test_codec.c - the table of codecs, and the streams that each refuses */
#include <criterion/criterion.h>

#include <lz4.h>
#include <stdio.h>
#include <zdict.h>
#include <zlib.h>
#include <zstd.h>

#include "b2frame/error.h"
#include "b2frame/names.h"
#include "codec/codec.h"
#include "tests/unit/exact.h"

static const unsigned int all_formats[] = {
	B2F_FORMAT_BLOSCLZ,
	B2F_FORMAT_LZ4,
	B2F_FORMAT_ZLIB,
	B2F_FORMAT_ZSTD,
};

#define SIZE 4000

static struct b2f_codec_states states;

static void teardown(void)
{
	b2f_codec_states_fini(&states);
}

TestSuite(codec, .fini = teardown);

/* Words from a small list, so that every codec finds matches. */
static uint8_t *make_text(size_t size, uint64_t seed)
{
	static const char words[8][9] = {"pressure", "wind 12m", "humidity",
					 "12.5 deg", "station ", "2024-11-",
					 "quality ", "unknown "};
	uint8_t *data = exact_new(size, 0);

	for (size_t i = 0; i + 8 <= size; i += 8)
		memcpy(data + i, words[exact_random(&seed) % 8], 8);
	return data;
}

/* A blosclz stream of @data as literals only. */
static size_t blosclz_store(const uint8_t *data, size_t size, uint8_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i += 32) {
		size_t run = size - i < 32 ? size - i : 32;

		out[n++] = (uint8_t)(run - 1);
		memcpy(out + n, data + i, run);
		n += run;
	}
	return n;
}

/* A stream of @format, of exact size; the caller frees it. */
static uint8_t *encode(unsigned int format, const uint8_t *data, size_t size,
		       size_t *out_size)
{
	size_t cap = 2 * size + 1000;
	uint8_t *tmp = exact_new(cap, 0), *out;
	uLongf n = cap;

	if (format == B2F_FORMAT_BLOSCLZ)
		n = blosclz_store(data, size, tmp);
	else if (format == B2F_FORMAT_LZ4)
		n = (uLongf)LZ4_compress_default(
			(const char *)data, (char *)tmp, (int)size, (int)cap);
	else if (format == B2F_FORMAT_ZLIB)
		cr_assert_eq(compress(tmp, &n, data, size), Z_OK);
	else
		n = ZSTD_compress(tmp, cap, data, size, 1);
	out = exact_copy(tmp, n);
	free(tmp);
	*out_size = n;
	return out;
}

static int decode(unsigned int format, const uint8_t *src, size_t src_size,
		  uint8_t *dst, size_t dst_size)
{
	return b2f_codec_states_decode(&states, format,
				       b2f_bytes_at(src, src_size),
				       b2f_room_at(dst, dst_size), NULL);
}

Test(codec, every_format_comes_back)
{
	OWN(free) uint8_t *data = make_text(SIZE, 1);
	OWN(free) uint8_t *dst = exact_new(SIZE, 0xee);

	/* Each format twice, because a state is used again and again. */
	for (size_t i = 0; i < 8; i++) {
		size_t size;
		uint8_t *src = encode(all_formats[i % 4], data, SIZE, &size);

		memset(dst, 0xee, SIZE);
		cr_assert_eq(decode(all_formats[i % 4], src, size, dst, SIZE),
			     0);
		cr_assert_eq(memcmp(dst, data, SIZE), 0);
		free(src);
	}
}

Test(codec, no_prefix_of_a_stream_is_taken_for_the_stream)
{
	OWN(free) uint8_t *data = make_text(SIZE, 2), *dst = exact_new(SIZE, 0);

	for (size_t i = 0; i < 4; i++) {
		size_t size;
		uint8_t *src = encode(all_formats[i], data, SIZE, &size);

		for (size_t n = 1; n < size; n++) {
			uint8_t *prefix = exact_copy(src, n);

			cr_assert_eq(
				decode(all_formats[i], prefix, n, dst, SIZE),
				B2F_ECORRUPT, "%u, %zu of %zu", all_formats[i],
				n, size);
			free(prefix);
		}
		free(src);
	}
}

Test(codec, another_length_than_the_right_one_is_refused)
{
	OWN(free) uint8_t *data = make_text(SIZE, 3);

	for (size_t i = 0; i < 4; i++) {
		size_t size;
		uint8_t *src = encode(all_formats[i], data, SIZE, &size);
		uint8_t *less = exact_new(SIZE - 1, 0);
		uint8_t *more = exact_new(SIZE + 1, 0);

		cr_assert_eq(decode(all_formats[i], src, size, less, SIZE - 1),
			     B2F_ECORRUPT);
		cr_assert_eq(decode(all_formats[i], src, size, more, SIZE + 1),
			     B2F_ECORRUPT);
		free(src);
		free(less);
		free(more);
	}
}

Test(codec, bytes_after_the_stream_are_refused)
{
	OWN(free) uint8_t *data = make_text(SIZE, 4), *dst = exact_new(SIZE, 0);

	for (size_t i = 0; i < 4; i++) {
		size_t size;
		uint8_t *src = encode(all_formats[i], data, SIZE, &size);
		uint8_t *longer = exact_new(size + 9, 0);

		memcpy(longer, src, size);
		for (size_t n = 1; n <= 9; n++)
			cr_assert_eq(decode(all_formats[i], longer, size + n,
					    dst, SIZE),
				     B2F_ECORRUPT, "%u", all_formats[i]);
		free(src);
		free(longer);
	}
}

Test(codec, damage_never_leaves_the_buffers)
{
	OWN(free) uint8_t *data = make_text(500, 5), *dst = exact_new(500, 0);
	uint64_t seed = 1;

	for (size_t i = 0; i < 4; i++) {
		size_t size;
		uint8_t *src = encode(all_formats[i], data, 500, &size);

		for (size_t k = 0; k < 20 * size; k++) {
			size_t at = exact_random(&seed) % size;
			uint8_t keep = src[at];
			int err;

			src[at] = (uint8_t)exact_random(&seed);
			err = decode(all_formats[i], src, size, dst, 500);
			cr_assert(err == 0 || err == B2F_ECORRUPT);
			src[at] = keep;
		}
		free(src);
	}
}

Test(codec, the_zstd_stream_of_the_format_notes_decodes)
{
	static const uint8_t src[] = {
		0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x78, 0xdd, 0x00, 0x00,
		0xa0, 0x74, 0x68, 0x65, 0x20, 0x71, 0x75, 0x69, 0x63,
		0x6b, 0x20, 0x62, 0x72, 0x6f, 0x77, 0x6e, 0x20, 0x66,
		0x6f, 0x78, 0x20, 0x01, 0x00, 0xc2, 0xa5, 0x93, 0x09,
	};
	uint8_t dst[120];

	cr_assert_eq(decode(B2F_FORMAT_ZSTD, src, sizeof(src), dst, 120), 0);
	for (size_t i = 0; i < 6; i++)
		cr_assert_eq(memcmp(dst + 20 * i, "the quick brown fox ", 20),
			     0);
}

Test(codec, two_zstd_frames_in_a_row_are_refused)
{
	OWN(free) uint8_t *data = make_text(800, 6), *dst = exact_new(800, 0);
	OWN(free) uint8_t *both;
	size_t a_size, b_size;
	OWN(free) uint8_t *a = encode(B2F_FORMAT_ZSTD, data, 400, &a_size);
	OWN(free)
	uint8_t *b = encode(B2F_FORMAT_ZSTD, data + 400, 400, &b_size);

	both = exact_new(a_size + b_size, 0);
	memcpy(both, a, a_size);
	memcpy(both + a_size, b, b_size);
	cr_assert_eq(decode(B2F_FORMAT_ZSTD, both, a_size + b_size, dst, 800),
		     B2F_ECORRUPT);
}

static uint8_t *lz4_with_dict(const uint8_t *data, const uint8_t *dict,
			      size_t dict_size, size_t *out_size)
{
	uint8_t *out = exact_new(2 * SIZE, 0);
	LZ4_stream_t *stream = LZ4_createStream();

	LZ4_loadDict(stream, (const char *)dict, (int)dict_size);
	*out_size = (size_t)LZ4_compress_fast_continue(
		stream, (const char *)data, (char *)out, SIZE, 2 * SIZE, 1);
	LZ4_freeStream(stream);
	return out;
}

static uint8_t *zstd_with_dict(const uint8_t *data, const uint8_t *dict,
			       size_t dict_size, size_t *out_size)
{
	uint8_t *out = exact_new(2 * SIZE, 0);
	ZSTD_CCtx *ctx = ZSTD_createCCtx();

	*out_size = ZSTD_compress_usingDict(ctx, out, 2 * SIZE, data, SIZE,
					    dict, dict_size, 3);
	cr_assert_not(ZSTD_isError(*out_size));
	ZSTD_freeCCtx(ctx);
	return out;
}

/* Expects @want with the dictionary, and no right bytes without it. */
static void expect_dict(unsigned int format, const uint8_t *src, size_t size,
			const uint8_t *want, const uint8_t *dict,
			size_t dict_size)
{
	OWN(free) uint8_t *dst = exact_new(SIZE, 0);

	for (int round = 0; round < 2; round++) {
		cr_assert_eq(b2f_codec_states_dict(&states, format, dict,
						   dict_size, NULL),
			     0);
		for (int k = 0; k < 2; k++) {
			memset(dst, 0xee, SIZE);
			cr_assert_eq(decode(format, src, size, dst, SIZE), 0);
			cr_assert_eq(memcmp(dst, want, SIZE), 0);
		}
		cr_assert_eq(
			b2f_codec_states_dict(&states, format, NULL, 0, NULL),
			0);
		cr_assert(decode(format, src, size, dst, SIZE) != 0 ||
			  memcmp(dst, want, SIZE) != 0);
	}
}

Test(codec, lz4_uses_the_dictionary_until_it_is_ended)
{
	OWN(free) uint8_t *data = make_text(SIZE, 7);
	OWN(free) uint8_t *dict = make_text(1000, 8), *src;
	size_t size;

	src = lz4_with_dict(data, dict, 1000, &size);
	expect_dict(B2F_FORMAT_LZ4, src, size, data, dict, 1000);
}

Test(codec, zstd_uses_raw_content_until_it_is_ended)
{
	OWN(free) uint8_t *data = make_text(SIZE, 9);
	OWN(free) uint8_t *dict = make_text(1000, 10), *src;
	size_t size;

	src = zstd_with_dict(data, dict, 1000, &size);
	expect_dict(B2F_FORMAT_ZSTD, src, size, data, dict, 1000);
}

Test(codec, zstd_uses_a_trained_dictionary)
{
	size_t sizes[2000], size, dict_size;
	OWN(free) uint8_t *samples = exact_noise(2000 * 40, 11), *src;
	OWN(free) uint8_t *data = exact_noise(SIZE, 12);
	OWN(free) uint8_t *dict = exact_new(2000, 0);

	for (size_t i = 0; i < 2000 * 40; i++)
		samples[i] = "0123456789,.-\n"[samples[i] % 14];
	for (size_t i = 0; i < SIZE; i++)
		data[i] = "0123456789,.-\n"[data[i] % 14];
	for (size_t i = 0; i < 2000; i++)
		sizes[i] = 40;
	dict_size = ZDICT_trainFromBuffer(dict, 2000, samples, sizes, 2000);
	cr_assert_not(ZDICT_isError(dict_size));
	src = zstd_with_dict(data, dict, dict_size, &size);
	expect_dict(B2F_FORMAT_ZSTD, src, size, data, dict, dict_size);
}

Test(codec, a_new_dictionary_takes_the_place_of_the_old_one)
{
	OWN(free) uint8_t *data = make_text(SIZE, 13);
	OWN(free) uint8_t *dst = exact_new(SIZE, 0), *src;
	OWN(free) uint8_t *a = make_text(900, 14), *b = make_text(1000, 15);
	size_t size;

	src = zstd_with_dict(data, b, 1000, &size);
	cr_assert_eq(
		b2f_codec_states_dict(&states, B2F_FORMAT_LZ4, a, 900, NULL),
		0);
	cr_assert_eq(
		b2f_codec_states_dict(&states, B2F_FORMAT_ZSTD, a, 900, NULL),
		0);
	cr_assert_eq(
		b2f_codec_states_dict(&states, B2F_FORMAT_ZSTD, b, 1000, NULL),
		0);
	cr_assert_eq(decode(B2F_FORMAT_ZSTD, src, size, dst, SIZE), 0);
	cr_assert_eq(memcmp(dst, data, SIZE), 0);
}

Test(codec, a_broken_zstd_dictionary_is_refused)
{
	uint8_t dict[100] = {0x37, 0xa4, 0x30, 0xec, 1, 2, 3, 4, 5, 6, 7};
	struct b2f_why why = {""};

	cr_assert_eq(b2f_codec_states_dict(&states, B2F_FORMAT_ZSTD, dict,
					   sizeof(dict), &why),
		     B2F_ECORRUPT);
	cr_assert_str_not_empty(why.text);
	cr_assert_null(states.dict);
}

Test(codec, a_dictionary_of_an_impossible_size_is_refused)
{
	OWN(free) uint8_t *dict = exact_new(B2F_DICT_MAX + 1, 1);

	cr_assert_eq(
		b2f_codec_states_dict(&states, B2F_FORMAT_LZ4, dict, 0, NULL),
		B2F_ECORRUPT);
	cr_assert_eq(b2f_codec_states_dict(&states, B2F_FORMAT_LZ4, dict,
					   B2F_DICT_MAX + 1, NULL),
		     B2F_ECORRUPT);
}

Test(codec, blosclz_and_zlib_have_no_dictionaries)
{
	uint8_t dict[10] = {0};

	cr_assert_eq(b2f_codec_states_dict(&states, B2F_FORMAT_BLOSCLZ, dict,
					   10, NULL),
		     B2F_EUNSUPPORTED);
	cr_assert_eq(
		b2f_codec_states_dict(&states, B2F_FORMAT_ZLIB, dict, 10, NULL),
		B2F_EUNSUPPORTED);
	cr_assert_eq(
		b2f_codec_states_dict(&states, B2F_FORMAT_ZLIB, NULL, 0, NULL),
		0);
}

Test(codec, a_format_without_codec_is_refused_by_its_number)
{
	static const unsigned int formats[] = {2, 5, 6, 7, 8, 1000};
	uint8_t src[4] = {0}, dst[4];

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct b2f_why why = {""};
		char number[16];

		cr_assert_null(b2f_codec_by_format(formats[i]));
		cr_assert_eq(b2f_codec_states_decode(&states, formats[i],
						     b2f_bytes_at(src, 4),
						     b2f_room_at(dst, 4), &why),
			     B2F_EUNSUPPORTED);
		snprintf(number, sizeof(number), "%u", formats[i]);
		cr_assert_neq(strstr(why.text, number), NULL);
	}
}

Test(codec, a_refused_stream_is_named_with_its_codec)
{
	uint8_t src[4] = {0xff, 0xff, 0xff, 0xff}, dst[4];
	struct b2f_why why = {""};

	cr_assert_eq(b2f_codec_states_decode(&states, B2F_FORMAT_ZSTD,
					     b2f_bytes_at(src, 4),
					     b2f_room_at(dst, 4), &why),
		     B2F_ECORRUPT);
	cr_assert_neq(strstr(why.text, "zstd"), NULL);
}

Test(codec, codes_have_the_names_of_the_format_notes)
{
	cr_assert_str_eq(b2f_codec_code_name(0), "blosclz");
	cr_assert_str_eq(b2f_codec_code_name(2), "lz4hc");
	cr_assert_str_eq(b2f_codec_code_name(3), "snappy");
	cr_assert_str_eq(b2f_codec_code_name(5), "zstd");
	cr_assert_str_eq(b2f_codec_code_name(6), "unknown");
	cr_assert_str_eq(b2f_codec_code_name(32), "ndlz");
	cr_assert_str_eq(b2f_codec_code_name(35), "zfp-rate");
	cr_assert_str_eq(b2f_codec_code_name(40), "htj2k");
	cr_assert_str_eq(b2f_codec_code_name(41), "unknown");
	cr_assert_str_eq(b2f_codec_code_name(255), "unknown");
}
