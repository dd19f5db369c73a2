/* SPDX-License-Identifier: BSD-3-Clause */
/* test_codec_encode.c - the encoders of streams */
#include <criterion/criterion.h>

#include "b2frame/error.h"
#include "b2frame/names.h"
#include "codec/codec.h"
#include "tests/unit/exact.h"

static struct b2f_codec_states states;

static void teardown(void)
{
	b2f_codec_states_fini(&states);
}

TestSuite(codec_encode, .fini = teardown);

/* @repeats of 256 bytes are taken from up to 200,000 bytes before. */
static uint8_t *make_data(size_t size, unsigned int repeats, uint64_t seed)
{
	uint8_t *data = exact_noise(size, seed);
	size_t i = 1, n, back;

	while (i < size) {
		n = 1 + exact_random(&seed) % 600;
		if (n > size - i)
			n = size - i;
		back = 1 + exact_random(&seed) % 200000;
		if (exact_random(&seed) % 4 == 0)
			back = 1 + exact_random(&seed) % 9;
		if (back > i)
			back = i;
		if (exact_random(&seed) % 256 < repeats) {
			for (size_t k = i; k < i + n; k++)
				data[k] = data[k - back];
		}
		i += n;
	}
	return data;
}

/*
 * Returns the size of the stream, 0 if it did not fit; checks that it decodes
 * to @data.
 */
static int64_t expect_back(unsigned int code, unsigned int level,
			   const uint8_t *data, size_t size, size_t room)
{
	uint8_t *dst = exact_new(room, 0xdd), *back = exact_new(size, 0xee);
	uint8_t *src = exact_copy(data, size), *stream;
	int64_t n = b2f_codec_states_encode(&states, code, level,
					    b2f_bytes_at(src, size),
					    b2f_room_at(dst, room));

	cr_assert_geq(n, 0);
	cr_assert_leq((size_t)n, room);
	cr_assert_eq(memcmp(src, data, size), 0);
	if (n > 0) {
		stream = exact_copy(dst, (size_t)n);
		cr_assert_eq(b2f_codec_states_decode(
				     &states, b2f_codec_by_code(code)->format,
				     b2f_bytes_at(stream, (size_t)n),
				     b2f_room_at(back, size), NULL),
			     0, "%s level %u, %zu bytes",
			     b2f_codec_code_name(code), level, size);
		cr_assert_eq(memcmp(back, data, size), 0);
		free(stream);
	}
	free(dst);
	free(src);
	free(back);
	return n;
}

Test(codec_encode, every_codec_and_level_comes_back)
{
	for (unsigned int code = 0; code < B2F_CODECS; code++) {
		if (!b2f_codec_by_code(code))
			continue;
		for (unsigned int level = 1; level <= 9; level++) {
			uint8_t *data = make_data(30000, 200, level);

			cr_assert_gt(
				expect_back(code, level, data, 30000, 30000),
				0);
			free(data);
		}
	}
}

Test(codec_encode, what_does_not_fit_is_no_error)
{
	OWN(free) uint8_t *noise = exact_noise(5000, 1);
	OWN(free) uint8_t *data = make_data(5000, 200, 2);

	for (unsigned int code = 0; code < B2F_CODECS; code++) {
		int64_t n;

		if (!b2f_codec_by_code(code))
			continue;
		cr_assert_eq(expect_back(code, 5, noise, 5000, 4999), 0);
		cr_assert_eq(expect_back(code, 5, data, 5000, 0), 0);
		cr_assert_eq(expect_back(code, 0, data, 5000, 5000), 0);
		n = expect_back(code, 5, data, 5000, 5000);
		cr_assert_gt(n, 0);
		cr_assert_eq(expect_back(code, 5, data, 5000, (size_t)n / 2),
			     0);
	}
}

Test(codec_encode, codes_without_encoder_are_refused)
{
	uint8_t byte = 0;

	for (unsigned int code = 0; code < 256; code++) {
		if (code < B2F_CODECS && code != 3)
			continue;
		cr_assert_null(b2f_codec_by_code(code));
		cr_assert_eq(b2f_codec_states_encode(&states, code, 5,
						     b2f_bytes_at(&byte, 1),
						     b2f_room_at(&byte, 1)),
			     B2F_EUNSUPPORTED);
	}
}

Test(codec_encode, every_room_of_a_blosclz_stream_is_kept)
{
	OWN(free) uint8_t *data = make_data(700, 200, 4);
	int64_t n = expect_back(B2F_CODEC_BLOSCLZ, 9, data, 700, 1000);

	cr_assert_gt(n, 0);
	for (size_t room = 0; room < (size_t)n; room++)
		cr_assert_eq(expect_back(B2F_CODEC_BLOSCLZ, 9, data, 700, room),
			     0);
	cr_assert_eq(expect_back(B2F_CODEC_BLOSCLZ, 9, data, 700, (size_t)n),
		     n);
}

Test(codec_encode, blosclz_of_every_small_size_comes_back)
{
	for (size_t size = 1; size < 600; size++) {
		uint8_t *data = make_data(size, size % 256, size);

		for (unsigned int level = 1; level <= 9; level++)
			(void)expect_back(B2F_CODEC_BLOSCLZ, level, data, size,
					  2 * size);
		memset(data, 'x', size);
		(void)expect_back(B2F_CODEC_BLOSCLZ, 5, data, size, size);
		free(data);
	}
}

Test(codec_encode, blosclz_reaches_as_far_as_the_format_can)
{
	/* The only match is one of 64 bytes, @back bytes before. */
	static const size_t backs[] = {64,    8190,  8191,  8192, 8193,
				       73726, 73727, 73728, 80000};

	for (size_t i = 0; i < sizeof(backs) / sizeof(*backs); i++) {
		size_t size = 100 + backs[i] + 64 + 10;
		uint8_t *data = exact_noise(size, i);
		int64_t n;

		memcpy(data + 100 + backs[i], data + 100, 64);
		n = expect_back(B2F_CODEC_BLOSCLZ, 9, data, size, 2 * size);
		cr_assert_gt(n, 0);
		free(data);
	}
}

Test(codec_encode, streams_do_not_see_each_other)
{
	/* The table still has places of earlier streams. */
	for (uint64_t i = 0; i < 2000; i++) {
		size_t size = 16 + i * 7 % 3000;
		uint8_t *data = make_data(size, 150, i / 2);

		(void)expect_back(B2F_CODEC_BLOSCLZ, 1 + i % 9, data, size,
				  size);
		free(data);
	}
}

Test(codec_encode, blosclz_ends_with_literals)
{
	uint8_t data[2000], out[2000];
	int64_t n;

	memset(data, 'a', sizeof(data));
	n = b2f_codec_states_encode(&states, B2F_CODEC_BLOSCLZ, 9,
				    b2f_bytes_at(data, sizeof(data)),
				    b2f_room_at(out, sizeof(out)));
	cr_assert_gt(n, 4);
	/* The mark, and a run of one in front and at the end. */
	cr_assert_eq(out[0], 0x20);
	cr_assert_eq(out[n - 2], 0);
	cr_assert_eq(out[n - 1], 'a');
}
