/* SPDX-License-Identifier: BSD-3-Clause */
/* test_blosclz.c - the decoder of blosclz streams */
#include <criterion/criterion.h>

#include "b2frame/error.h"
#include "codec/codec.h"
#include "tests/fuzz/blosclz_ref.h"
#include "tests/unit/exact.h"

/* A stream under construction, with room for every test. */
struct stream {
	uint8_t data[1 << 18];
	size_t size;
};

/* Decodes from and to buffers of exact size; *@out is the caller's to free. */
static int decode(const void *src, size_t src_size, size_t dst_size,
		  uint8_t **out)
{
	uint8_t *from = exact_copy(src, src_size);
	uint8_t *dst = exact_new(dst_size, 0xee);
	int err = b2f_codec_blosclz.decode(NULL, from, src_size, dst, dst_size);

	free(from);
	*out = dst;
	return err;
}

static void expect(const void *src, size_t src_size, const void *want,
		   size_t want_size)
{
	OWN(free) uint8_t *dst;

	cr_assert_eq(decode(src, src_size, want_size, &dst), 0);
	cr_assert_eq(memcmp(dst, want, want_size), 0);
}

static void expect_refused(const void *src, size_t src_size, size_t dst_size)
{
	OWN(free) uint8_t *dst;

	cr_assert_eq(decode(src, src_size, dst_size, &dst), B2F_ECORRUPT);
}

/* Expects the verdict and the bytes of the slow decoder. */
static void expect_like_reference(const void *src, size_t src_size,
				  size_t dst_size)
{
	OWN(free) uint8_t *want = exact_new(dst_size, 0), *got;
	bool ok = blosclz_ref_decode(src, src_size, want, dst_size);
	int err = decode(src, src_size, dst_size, &got);

	cr_assert_eq(err, ok ? 0 : B2F_ECORRUPT);
	if (ok)
		cr_assert_eq(memcmp(got, want, dst_size), 0);
}

static void put(struct stream *s, size_t byte)
{
	cr_assert_lt(s->size, sizeof(s->data));
	s->data[s->size++] = (uint8_t)byte;
}

static void put_literals(struct stream *s, const uint8_t *data, size_t n)
{
	while (n > 0) {
		size_t run = n < 32 ? n : 32;

		put(s, run - 1);
		for (size_t i = 0; i < run; i++)
			put(s, *data++);
		n -= run;
	}
}

static void put_match(struct stream *s, size_t distance, size_t n)
{
	size_t d = distance - 1;
	bool far = d >= 8191;
	size_t hi = far ? 31 : d >> 8, len = n - 2;

	put(s, (len < 7 ? len : 7) << 5 | hi);
	if (len >= 7) {
		for (len -= 7; len >= 255; len -= 255)
			put(s, 255);
		put(s, len);
	}
	put(s, far ? 255 : d & 255);
	if (far) {
		put(s, (d - 8191) >> 8);
		put(s, (d - 8191) & 255);
	}
}

static size_t match_length(const uint8_t *data, size_t at, size_t from,
			   size_t size)
{
	size_t n = 0;

	while (at + n + 1 < size && data[from + n] == data[at + n])
		n++;
	return n;
}

/* A second encoder, which remembers one place per hash. */
static void encode(struct stream *s, const uint8_t *data, size_t size)
{
	static size_t last[1 << 12];
	size_t i = 1, pending = 0, n, from;

	memset(last, 0, sizeof(last));
	s->size = 0;
	while (i + 4 < size) {
		uint32_t word, hash;

		memcpy(&word, data + i, 4);
		hash = word * 2654435761U >> 20;
		from = last[hash];
		last[hash] = i;
		n = i - from <= 73727 ? match_length(data, i, from, size) : 0;
		if (from >= i || n < 4) {
			i++;
			continue;
		}
		put_literals(s, data + pending, i - pending);
		put_match(s, i - from, n);
		i += n;
		pending = i;
	}
	put_literals(s, data + pending, size - pending);
	s->data[0] |= 0x20;
}

Test(blosclz, the_streams_of_the_format_notes_decode)
{
	static const uint8_t repeat[] = {
		0x27, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67,
		0x68, 0xe0, 0x4c, 0x07, 0x02, 0x66, 0x67, 0x68,
	};
	static const uint8_t run[] = {
		0x2a, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37,
		0x38, 0x39, 0x78, 0xe0, 0x45, 0x00, 0x0a, 0x78, 0x39,
		0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0x30,
	};
	char want[101];

	for (size_t i = 0; i < 96; i++)
		want[i] = (char)('a' + i % 8);
	expect(repeat, sizeof(repeat), want, 96);
	memset(want, 'x', sizeof(want));
	memcpy(want, "0123456789", 10);
	memcpy(want + 90, "9876543210", 10);
	expect(run, sizeof(run), want, 100);
}

Test(blosclz, matches_of_every_near_distance_and_length_repeat_their_pattern)
{
	static struct stream s;

	for (size_t distance = 1; distance <= 70; distance++) {
		for (size_t n = 3; n < 700; n += n < 80 ? 1 : 37) {
			uint8_t *head = exact_noise(distance, distance * n);

			s.size = 0;
			put_literals(&s, head, distance);
			put_match(&s, distance, n);
			put_literals(&s, head, 1);
			expect_like_reference(s.data, s.size, distance + n + 1);
			free(head);
		}
	}
}

Test(blosclz, copies_are_exact_at_every_place_before_the_end)
{
	static struct stream s;
	OWN(free) uint8_t *tail = exact_noise(80, 1);

	for (size_t distance = 1; distance <= 40; distance++) {
		for (size_t left = 1; left < 80; left++) {
			s.size = 0;
			put_literals(&s, tail, 40);
			put_match(&s, distance, 3 + left);
			put_literals(&s, tail, left);
			expect_like_reference(s.data, s.size,
					      40 + 3 + left + left);
		}
	}
}

Test(blosclz, a_far_distance_begins_at_8192)
{
	static const size_t distances[] = {8190, 8191,	8192, 8193,
					   8292, 73726, 73727};
	static struct stream s;
	OWN(free) uint8_t *head = exact_noise(73727, 7);

	for (size_t i = 0; i < sizeof(distances) / sizeof(*distances); i++) {
		uint8_t *want = exact_new(73727 + 14 + 1, 0);

		s.size = 0;
		put_literals(&s, head, 73727);
		put_match(&s, distances[i], 14);
		put_literals(&s, head, 1);
		memcpy(want, head, 73727);
		memcpy(want + 73727, head + 73727 - distances[i], 14);
		want[73741] = head[0];
		expect(s.data, s.size, want, 73742);
		free(want);
	}
}

static uint8_t *make_data(size_t kind, size_t size)
{
	uint8_t *data = exact_noise(size, kind);

	for (size_t i = 0; i < size; i++) {
		if (kind == 1)
			data[i] &= 1;
		if (kind == 2)
			data[i] = (uint8_t)(i / 100);
		if (kind == 3 && i >= 24)
			data[i] = i % 24 ? data[i - 24] : data[i];
		if (kind == 4 && i >= 9000)
			data[i] = data[i - 9000];
	}
	return data;
}

Test(blosclz, what_a_simple_encoder_writes_comes_back)
{
	static struct stream s;

	for (size_t kind = 0; kind < 5; kind++) {
		for (size_t size = 5; size < 100000; size += size / 2) {
			uint8_t *data = make_data(kind, size);

			encode(&s, data, size);
			expect(s.data, s.size, data, size);
			free(data);
		}
	}
}

Test(blosclz, the_high_bits_of_the_first_byte_mean_nothing)
{
	for (unsigned int high = 0; high < 8; high++) {
		uint8_t src[] = {(uint8_t)(high << 5 | 2), 'a', 'b', 'c'};

		expect(src, sizeof(src), "abc", 3);
	}
}

Test(blosclz, no_prefix_of_a_stream_is_taken_for_the_stream)
{
	static struct stream s;
	OWN(free) uint8_t *data = make_data(3, 3000);

	encode(&s, data, 3000);
	for (size_t size = 0; size < s.size; size++)
		expect_refused(s.data, size, 3000);
}

Test(blosclz, a_damaged_stream_is_treated_as_the_slow_decoder_does)
{
	static struct stream s;
	uint8_t *data = make_data(3, 700), keep;
	uint64_t seed = 1;

	encode(&s, data, 700);
	for (size_t i = 0; i < s.size; i++) {
		keep = s.data[i];
		for (unsigned int k = 0; k < 50; k++) {
			s.data[i] = (uint8_t)exact_random(&seed);
			expect_like_reference(s.data, s.size, 700);
		}
		s.data[i] = keep;
	}
	free(data);
}

Test(blosclz, an_empty_input_is_refused)
{
	expect_refused("", 0, 1);
}

Test(blosclz, a_match_before_the_start_is_refused)
{
	/* 3 bytes, then length 3 at distance 4, then a literal. */
	expect_refused("\x02"
		       "abc\x20\x03\x00"
		       "d",
		       8, 7);
	expect("\x02"
	       "abc\x20\x02\x00"
	       "d",
	       8, "abcabcd", 7);
}

Test(blosclz, a_match_at_the_end_is_refused)
{
	expect_refused("\x02"
		       "abc\x20\x02",
		       6, 6);
}

Test(blosclz, a_far_match_at_the_end_is_refused)
{
	static struct stream s;
	OWN(free) uint8_t *head = exact_noise(9000, 3);

	put_literals(&s, head, 9000);
	put_match(&s, 8500, 5);
	expect_refused(s.data, s.size, 9005);
}

Test(blosclz, another_length_than_the_right_one_is_refused)
{
	expect_refused("\x02"
		       "abc",
		       4, 2);
	expect_refused("\x02"
		       "abc",
		       4, 4);
	expect_refused("\x02"
		       "abc\x20\x02\x00"
		       "d",
		       8, 6);
	expect_refused("\x02"
		       "abc\x20\x02\x00"
		       "d",
		       8, 8);
}

Test(blosclz, a_length_that_never_ends_is_refused)
{
	OWN(free) uint8_t *src = exact_new(100000, 255);

	src[0] = 0;
	expect_refused(src, 100000, 1000);
}
