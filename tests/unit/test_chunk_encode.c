/* SPDX-License-Identifier: BSD-3-Clause */
/* test_chunk_encode.c - the encoder of chunks: its chunks decode to the data */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/bytes.h"
#include "chunk/chunk.h"
#include "chunk/encoder.h"
#include "tests/unit/exact.h"

static struct b2f_encoder *enc;
static struct b2f_decoder *dec;

static void setup(void)
{
	cr_assert_eq(b2f_encoder_new(&enc), 0);
	cr_assert_eq(b2f_decoder_new(&dec), 0);
}

static void teardown(void)
{
	b2f_encoder_free(enc);
	b2f_decoder_free(dec);
}

TestSuite(chunk_encode, .init = setup, .fini = teardown);

static const unsigned int all_codecs[] = {
	B2F_CODEC_BLOSCLZ, B2F_CODEC_LZ4,  B2F_CODEC_LZ4HC,
	B2F_CODEC_ZLIB,	   B2F_CODEC_ZSTD,
};

/*
 * Data of one kind: 0 noise, 1 slow steps, 2 mostly zeros, 3 runs, 4 one value.
 */
static uint8_t *make_data(unsigned int kind, size_t size, uint64_t seed)
{
	uint8_t *data = exact_noise(size, seed);
	uint64_t item = seed;

	for (size_t i = 0; i < size; i++) {
		if (kind == 1) {
			item += i % 8 ? 0 : exact_random(&seed) % 5;
			data[i] = (uint8_t)(item >> i % 8 * 8);
		} else if (kind == 2 && data[i] > 8) {
			data[i] = 0;
		} else if (kind == 3) {
			data[i] = (uint8_t)(i / 300);
		} else if (kind == 4) {
			data[i] = 77;
		}
	}
	return data;
}

/* Encodes into a buffer of exact size, which becomes exactly the chunk. */
static uint8_t *encode(const struct b2f_encode_options *options,
		       const uint8_t *data, uint32_t size,
		       struct b2f_encoded *made)
{
	size_t room = b2f_chunk_encode_bound(size);
	uint8_t *src = exact_copy(data, size), *dst = exact_new(room, 0xdd);
	struct b2f_why why = {""};
	uint8_t *raw;

	cr_assert_eq(b2f_chunk_encode(enc, options, b2f_bytes_at(src, size),
				      b2f_room_at(dst, room), made, &why),
		     0, "%s", why.text);
	cr_assert_eq(memcmp(src, data, size), 0, "the data were written to");
	cr_assert_leq(made->cbytes, room);
	raw = exact_copy(dst, made->cbytes);
	free(src);
	free(dst);
	return raw;
}

/* Checks that the bare chunk at @raw decodes to @data. */
static void expect_decoded(const uint8_t *raw, uint32_t cbytes,
			   const uint8_t *data, uint32_t size)
{
	const struct b2f_chunk_context context = {0};
	OWN(free) uint8_t *got = exact_new(size, 0xee);
	struct b2f_why why = {""};
	struct b2f_chunk chunk;

	cr_assert_eq(
		b2f_chunk_open(raw, cbytes, cbytes, &context, &chunk, &why), 0,
		"%s", why.text);
	cr_assert_eq(chunk.header.cbytes, cbytes);
	cr_assert_eq(chunk.header.nbytes, size);
	cr_assert_eq(chunk.header.version, 5);
	cr_assert_eq(chunk.ndoubts, 0);
	cr_assert_eq(b2f_chunk_decode_all(&chunk, dec, raw, got, &why), 0, "%s",
		     why.text);
	cr_assert_eq(memcmp(got, data, size), 0);
}

static void expect_back(const struct b2f_encode_options *options,
			const uint8_t *data, uint32_t size)
{
	struct b2f_encoded made;
	OWN(free) uint8_t *raw = encode(options, data, size, &made);
	bool zeros = size > 0;

	for (uint32_t i = 0; i < size; i++)
		zeros = zeros && !data[i];
	cr_assert_eq(made.zeros, zeros);
	cr_assert_eq(made.cbytes == 0, zeros);
	if (!zeros)
		expect_decoded(raw, made.cbytes, data, size);
}

static struct b2f_encode_options
options_of(unsigned int codec, unsigned int clevel, uint32_t typesize)
{
	return (struct b2f_encode_options){
		.typesize = typesize,
		.codec = codec,
		.clevel = clevel,
		.pipeline = {{0, 0, 0, 0, 0, B2F_FILTER_SHUFFLE}, {0}},
	};
}

static const struct b2f_pipeline pipelines[] = {
	{{0}, {0}},
	{{0, 0, 0, 0, 0, 1}, {0}},
	{{0, 0, 0, 0, 0, 2}, {0}},
	{{0, 0, 0, 0, 3, 1}, {0}},
	{{0, 0, 0, 0, 1, 35}, {0}},
	{{3, 0, 1, 0, 35, 2}, {0, 0, 3, 0, 5, 0}},
};
#define PIPELINES (sizeof(pipelines) / sizeof(*pipelines))

Test(chunk_encode, every_codec_and_level_comes_back)
{
	OWN(free) uint8_t *data = make_data(1, 40000, 7);

	for (size_t c = 0; c < 5; c++) {
		for (unsigned int level = 0; level <= 9; level++) {
			struct b2f_encode_options options =
				options_of(all_codecs[c], level, 8);

			options.blocksize = 16384;
			expect_back(&options, data, 40000);
		}
	}
}

Test(chunk_encode, every_filter_and_type_comes_back)
{
	static const uint32_t types[] = {1,  2,	 3,  4,	 5,   7,   8,	12,
					 16, 17, 32, 33, 100, 255, 256, 300};
	OWN(free) uint8_t *data = make_data(1, 20011, 9);

	for (size_t p = 0; p < PIPELINES; p++) {
		for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
			for (unsigned int split = 0; split <= 4; split++) {
				struct b2f_encode_options options =
					options_of(B2F_CODEC_LZ4, 5, types[t]);

				options.pipeline = pipelines[p];
				options.split = (enum b2f_split)split;
				options.blocksize = 5000;
				expect_back(&options, data, 20011);
			}
		}
	}
}

Test(chunk_encode, every_small_size_comes_back)
{
	static const uint32_t types[] = {1, 4, 7, 16, 64};

	for (uint32_t size = 0; size < 300; size++) {
		for (unsigned int kind = 0; kind < 5; kind++) {
			uint8_t *data = make_data(kind, size, size);

			for (size_t t = 0; t < 5; t++) {
				struct b2f_encode_options options = options_of(
					B2F_CODEC_BLOSCLZ, 9, types[t]);

				options.split = (enum b2f_split)(size % 5);
				options.blocksize = size % 3 * 40;
				expect_back(&options, data, size);
			}
			free(data);
		}
	}
}

/* A random chunk, which depends on @seed alone. */
static void one_of_many(uint64_t seed)
{
	uint32_t size = exact_random(&seed) % 3 ? exact_random(&seed) % 3000
						: exact_random(&seed) % 90000;
	unsigned int kind = exact_random(&seed) % 5;
	OWN(free) uint8_t *data = make_data(kind, size, seed);
	struct b2f_encode_options options = options_of(
		all_codecs[exact_random(&seed) % 5], exact_random(&seed) % 10,
		1 + exact_random(&seed) % 20);

	/* The slowest levels get less to do. */
	if (size > 3000 && options.clevel > 6)
		options.clevel -= 3;
	options.split = (enum b2f_split)(exact_random(&seed) % 5);
	options.blocksize =
		exact_random(&seed) % 2 ? 0 : 1 + exact_random(&seed) % 10000;
	for (unsigned int i = 0; i < exact_random(&seed) % 4; i++) {
		static const uint8_t ids[] = {1, 2, 3, 35, 34, 4, 36, 32, 99};
		unsigned int slot = exact_random(&seed) % 6;

		options.pipeline.filter[slot] = ids[exact_random(&seed) % 9];
		options.pipeline.meta[slot] = (uint8_t)exact_random(&seed);
	}
	expect_back(&options, data, size);
}

Test(chunk_encode, random_parameters_come_back, .timeout = 280)
{
	for (uint64_t i = 0; i < 5000; i++)
		one_of_many(i);
}

Test(chunk_encode, an_empty_chunk_is_a_header)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_ZSTD, 5, 8);
	struct b2f_encoded made;
	OWN(free)
	uint8_t *raw = encode(&options, (const uint8_t *)"", 0, &made);

	cr_assert_eq(made.cbytes, 32);
	cr_assert_eq(raw[2], 0x07);
	cr_assert_eq(b2f_load_le32(raw + 8), 1);
}

Test(chunk_encode, noise_is_stored_as_it_is)
{
	OWN(free) uint8_t *data = exact_noise(100000, 1);

	for (size_t c = 0; c < 5; c++) {
		struct b2f_encode_options options =
			options_of(all_codecs[c], 5, 4);
		struct b2f_encoded made;
		uint8_t *raw = encode(&options, data, 100000, &made);

		cr_assert_eq(made.cbytes, 100032);
		cr_assert(raw[2] & 2);
		cr_assert_eq(memcmp(raw + 32, data, 100000), 0);
		free(raw);
	}
}

/*
 * Items of @width bytes: those from @low to @high - 1 are noise, and the others
 * hardly change or, if @coarse, are noise that shrinks by a third.
 */
static uint8_t *make_items(size_t size, size_t width, size_t low, size_t high,
			   bool coarse)
{
	uint8_t *data = exact_noise(size, width + high);

	for (size_t i = 0; i < size; i++)
		if (i % width < low || i % width >= high)
			data[i] = (uint8_t)(coarse ? data[i] & 3
						   : i / width / 100);
	return data;
}

/*
 * Decodes the planned @e of the chunk at @raw into @out, from a copy of no
 * other bytes than it needs.  Returns as b2f_excerpt_decode().
 */
static int decode_planned(const struct b2f_chunk *chunk, const uint8_t *raw,
			  struct b2f_excerpt *e, uint8_t *out)
{
	struct b2f_excerpt_range ranges[B2F_EXCERPT_RANGES_MAX];
	uint8_t *stored = exact_new(e->stored_size, 0xdd);
	size_t n = b2f_excerpt_ranges(chunk, e, ranges), read = 0;
	int err;

	for (size_t i = 0; i < n; read += ranges[i++].size)
		memcpy(stored + ranges[i].off,
		       raw + e->stored_off + ranges[i].off, ranges[i].size);
	cr_assert_leq(read, e->stored_size);
	err = b2f_excerpt_decode(chunk, dec, e, stored, out);
	free(stored);
	return err;
}

/* The same, until the number of streams without a codec is right. */
static int decode_excerpt(const struct b2f_chunk *chunk, const uint8_t *raw,
			  struct b2f_excerpt *e, uint8_t *out)
{
	int err = b2f_excerpt_plan(chunk, e) ? 1 : -EINVAL;

	while (err == 1 && e->nplain)
		err = decode_planned(chunk, raw, e, out);
	return err;
}

#define ITEMS_BLOCK 16384u
#define ITEMS_SIZE  (2 * ITEMS_BLOCK + 8000)

/* Returns how many excerpts of the chunk of @data at @raw could be decoded. */
static unsigned int expect_excerpts(const uint8_t *raw, uint32_t cbytes,
				    const uint8_t *data)
{
	const struct b2f_chunk_context context = {0};
	const uint32_t sizes[] = {16, 1024, 4096, ITEMS_BLOCK};
	struct b2f_chunk chunk;
	unsigned int done = 0;

	cr_assert_eq(
		b2f_chunk_open(raw, cbytes, cbytes, &context, &chunk, NULL), 0);
	for (uint32_t i = 0; i < 4 * chunk.nunits * 16; i++) {
		struct b2f_excerpt e = {.unit = i / 64,
					.start = i / 4 % 16 * 1024,
					.size = sizes[i % 4],
					.nplain = B2F_PLANES_MAX};
		uint8_t *got = exact_new(e.size, 0xee);

		if (!decode_excerpt(&chunk, raw, &e, got)) {
			cr_assert_eq(
				memcmp(got,
				       data + e.unit * ITEMS_BLOCK + e.start,
				       e.size),
				0, "%u at %u of unit %u", e.size, e.start,
				e.unit);
			done++;
		}
		free(got);
	}
	return done;
}

/* Excerpts of items with noise from @low to @high: how many are decoded? */
static unsigned int try_excerpts(unsigned int codec, uint32_t width, size_t low,
				 size_t high, bool coarse)
{
	struct b2f_encode_options options = options_of(codec, 5, width);
	uint8_t *data = make_items(ITEMS_SIZE, width, low, high, coarse);
	struct b2f_encoded made;
	unsigned int done;
	uint8_t *raw;

	options.split = B2F_SPLIT_ALWAYS;
	options.blocksize = ITEMS_BLOCK;
	raw = encode(&options, data, ITEMS_SIZE, &made);
	done = expect_excerpts(raw, made.cbytes, data);
	free(raw);
	free(data);
	return done;
}

/* So many do not end behind their unit, in two units. */
#define EXCERPTS (2 * (16 + 16 + 13 + 1))

Test(chunk_encode, excerpts_are_the_bytes_of_their_unit)
{
	for (size_t c = 0; c < 5; c++)
		for (uint32_t width = 2; width <= 8; width *= 2)
			for (size_t high = 1; high < width; high++)
				cr_assert_eq(try_excerpts(all_codecs[c], width,
							  0, high, false),
					     EXCERPTS, "codec %zu, %zu of %u",
					     c, high, width);
}

Test(chunk_encode, excerpts_have_few_or_many_streams_as_they_are)
{
	for (size_t high = 1; high < 8; high++)
		cr_assert_eq(try_excerpts(B2F_CODEC_LZ4, 8, 0, high, true),
			     EXCERPTS, "%zu", high);
}

Test(chunk_encode, excerpts_are_given_up_if_noise_is_not_first)
{
	for (uint32_t width = 2; width <= 8; width *= 2)
		cr_assert_eq(
			try_excerpts(B2F_CODEC_LZ4, width, 1, width, false), 0);
}

Test(chunk_encode, the_block_size_of_the_header_is_rounded_and_used)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 5, 300);
	OWN(free) uint8_t *data = make_data(1, 10000, 3);
	struct b2f_encoded made;
	OWN(free) uint8_t *raw;

	options.blocksize = 1001;
	raw = encode(&options, data, 10000, &made);
	cr_assert_eq(raw[3], 1);
	cr_assert_eq(b2f_load_le32(raw + 8), 900);
	cr_assert_geq(b2f_load_le32(raw + 32), 32 + 4 * 12);
}

Test(chunk_encode, streams_of_one_byte_are_runs)
{
	/* Shuffled: a plane of 5, one of zeros, and two that vary. */
	OWN(free) uint8_t *data = exact_noise(4096, 1);
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 5, 4);
	struct b2f_encoded made;
	OWN(free) uint8_t *raw;

	for (size_t i = 0; i < 4096; i += 4) {
		data[i] = 5;
		data[i + 1] = 0;
	}
	raw = encode(&options, data, 4096, &made);
	cr_assert_eq(b2f_load_le32(raw + 32), 36);
	cr_assert_eq((int32_t)b2f_load_le32(raw + 36), -5);
	cr_assert_eq(raw[40], 1);
	cr_assert_eq(b2f_load_le32(raw + 41), 0);
	cr_assert_eq(b2f_load_le32(raw + 45), 1024);
	expect_decoded(raw, made.cbytes, data, 4096);
}

Test(chunk_encode, what_cannot_be_encoded_is_replaced)
{
	OWN(free) uint8_t *data = make_data(1, 40000, 5);
	struct b2f_encode_options options = options_of(33, 5, 8);
	struct b2f_encoded made;
	OWN(free) uint8_t *raw;

	options.pipeline = (struct b2f_pipeline){{32, 4, 0, 0, 0, 36}, {4, 9}};
	raw = encode(&options, data, 40000, &made);
	cr_assert(made.substituted);
	cr_assert_eq(raw[22], B2F_CODEC_ZSTD);
	cr_assert_eq(memcmp(raw + 16, "\0\0\0\0\0\1", 6), 0);
	expect_decoded(raw, made.cbytes, data, 40000);
}

Test(chunk_encode, bytedelta_says_how_many_channels)
{
	OWN(free) uint8_t *data = make_data(1, 40000, 5);
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 5, 8);
	struct b2f_encoded made;
	OWN(free) uint8_t *raw;

	options.pipeline = (struct b2f_pipeline){{0, 0, 0, 0, 1, 34}, {0}};
	raw = encode(&options, data, 40000, &made);
	cr_assert_not(made.substituted);
	cr_assert_eq(raw[16 + 5], 35);
	cr_assert_eq(raw[24 + 5], 8);
	expect_decoded(raw, made.cbytes, data, 40000);
}

/* C-Blosc2 before 3.3.2 leaves bytes behind the last channel unread. */
Test(chunk_encode, bytedelta_leaves_no_bytes_behind_its_channels)
{
	/* Bytes, blocks, channels: a tail in the last block, each, none. */
	static const struct {
		uint32_t nbytes, blocksize;
		uint8_t channels, filter;
	} cases[] = {
		{40001, 4096, 8, 0}, {40000, 4096, 5, 0}, {40000, 4096, 8, 35}};
	OWN(free) uint8_t *data = make_data(1, 40001, 5);
	struct b2f_encoded made;
	uint8_t *raw;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct b2f_encode_options options =
			options_of(B2F_CODEC_LZ4, 5, 8);

		options.blocksize = cases[i].blocksize;
		options.pipeline = (struct b2f_pipeline){
			{0, 0, 0, 0, 1, 35},
			{0, 0, 0, 0, 0, cases[i].channels}};
		raw = encode(&options, data, cases[i].nbytes, &made);
		cr_assert_eq(raw[16 + 4], 1);
		cr_assert_eq(raw[16 + 5], cases[i].filter, "case %zu", i);
		expect_decoded(raw, made.cbytes, data, cases[i].nbytes);
		free(raw);
	}
}

Test(chunk_encode, lossy_filters_are_applied_only_if_allowed)
{
	float data[1000], *got;
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 5, 4);
	const struct b2f_chunk_context context = {0};
	struct b2f_encoded made;
	struct b2f_chunk chunk;
	OWN(free) uint8_t *raw;

	for (int i = 0; i < 1000; i++)
		data[i] = 1.0F + (float)i / 3000.0F;
	options.pipeline = (struct b2f_pipeline){{4, 0, 0, 0, 0, 1}, {10}};
	expect_back(&options, (const uint8_t *)data, sizeof(data));
	options.allow_lossy = true;
	raw = encode(&options, (const uint8_t *)data, sizeof(data), &made);
	cr_assert_not(made.substituted);
	got = malloc(sizeof(data));
	cr_assert_eq(b2f_chunk_open(raw, made.cbytes, made.cbytes, &context,
				    &chunk, NULL),
		     0);
	cr_assert_eq(
		b2f_chunk_decode_all(&chunk, dec, raw, (uint8_t *)got, NULL),
		0);
	for (int i = 0; i < 1000; i++) {
		cr_assert(got[i] <= data[i] && data[i] - got[i] < 0.001F);
		cr_assert_eq((int)(got[i] * 1024.0F), got[i] * 1024.0F);
	}
	free(got);
}

Test(chunk_encode, int_trunc_keeps_the_high_bits)
{
	const struct b2f_filter_block block = {.typesize = 2};
	static const uint16_t data[2] = {0xffff, 0x1234};
	uint16_t got[2];

	b2f_filter_int_trunc.encode(&block, (uint8_t)-4, (const void *)data,
				    (void *)got, 4);
	cr_assert_eq(got[0], 0xfff0);
	cr_assert_eq(got[1], 0x1230);
	b2f_filter_int_trunc.encode(&block, 4, (const void *)data, (void *)got,
				    4);
	cr_assert_eq(got[0], 0xf000);
	cr_assert_eq(got[1], 0x1000);
}

Test(chunk_encode, options_that_cannot_be_are_refused)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 5, 4);
	uint8_t src[64] = {1}, dst[96];
	struct b2f_encoded made;

	cr_assert_eq(b2f_chunk_encode(enc, &options, b2f_bytes_at(src, 64),
				      b2f_room_at(dst, 95), &made, NULL),
		     -EINVAL);
	options.typesize = 0;
	cr_assert_eq(b2f_chunk_encode(enc, &options, b2f_bytes_at(src, 64),
				      b2f_room_at(dst, 96), &made, NULL),
		     -EINVAL);
	options = options_of(B2F_CODEC_LZ4, 10, 4);
	cr_assert_eq(b2f_chunk_encode(enc, &options, b2f_bytes_at(src, 64),
				      b2f_room_at(dst, 96), &made, NULL),
		     -EINVAL);
	options = options_of(B2F_CODEC_LZ4, 5, 4);
	cr_assert_eq(b2f_chunk_encode(enc, &options,
				      b2f_bytes_at(src, 0x7fffffe0),
				      b2f_room_at(dst, 96), &made, NULL),
		     B2F_ETOOBIG);
}

Test(chunk_encode, a_repeated_value_is_stored_once)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 5, 3);
	OWN(free) uint8_t *data = exact_copy("abcabcabcabc", 12), *raw;
	uint32_t cbytes = 0;

	raw = exact_new(35, 0);
	cr_assert_eq(b2f_chunk_encode_value(&options, 12, b2f_bytes_at(data, 3),
					    raw, &cbytes, NULL),
		     0);
	cr_assert_eq(cbytes, 35);
	expect_decoded(raw, 35, data, 12);
	cr_assert_eq(b2f_chunk_encode_value(&options, 13, b2f_bytes_at(data, 3),
					    raw, &cbytes, NULL),
		     -EINVAL);
}

Test(chunk_encode, zeros_of_any_length_have_a_chunk)
{
	OWN(free) uint8_t *zeros = exact_new(5000, 0);

	for (uint32_t size = 1; size < 5000; size += 1 + size / 99) {
		struct b2f_encode_options options =
			options_of(size % 3 ? B2F_CODEC_LZ4 : 33, size % 10,
				   size > 4000 ? 1000 : 1 + size % 9);
		uint32_t room = (uint32_t)b2f_chunk_encode_bound(size);
		uint8_t *raw = exact_new(room, 0xdd);
		uint32_t cbytes = 0;

		cr_assert_eq(b2f_chunk_encode_value(&options, size,
						    b2f_bytes_at(NULL, 0), raw,
						    &cbytes, NULL),
			     0);
		cr_assert_leq(cbytes, room);
		/* C-Blosc2 expects this size in the first chunk of a frame. */
		if (raw[31])
			cr_assert_eq(cbytes, 32 + options.typesize);
		expect_decoded(raw, cbytes, zeros, size);
		free(raw);
	}
}

Test(chunk_encode, the_item_size_is_guessed)
{
	static const uint32_t types[] = {1, 2, 4, 8, 16};
	uint8_t *data = exact_noise(1 << 20, 1);
	uint32_t guess = 0;

	cr_assert_eq(b2f_encode_guess_typesize(enc, data, 1 << 20, &guess), 0);
	cr_assert_eq(guess, 1);
	cr_assert_eq(b2f_encode_guess_typesize(enc, data, 0, &guess), 0);
	cr_assert_eq(guess, 1);
	for (size_t t = 1; t < 5; t++) {
		for (size_t i = 0; i < 1 << 20; i++) {
			/* Noise below, and a byte that hardly changes. */
			if (i % types[t] == types[t] - 1)
				data[i] = (uint8_t)(i >> 14);
			else if (i % types[t] > types[t] / 2)
				data[i] = (uint8_t)(i % types[t] + (i >> 16));
		}
		cr_assert_eq(
			b2f_encode_guess_typesize(enc, data, 1 << 20, &guess),
			0);
		cr_assert_eq(guess, types[t], "%u, not %u", guess, types[t]);
		free(data);
		data = exact_noise(1 << 20, t);
	}
	free(data);
}

Test(chunk_encode, short_text_has_items_of_one_byte)
{
	uint8_t text[B2F_ENCODE_SHORT + 8];
	uint32_t guess = 0;

	/* Numbers of eight digits: shuffled, they take fewer bytes. */
	for (unsigned int i = 0; i < sizeof(text) / 8; i++) {
		char number[16];

		snprintf(number, sizeof(number), "%07u\n", i * i % 9999991);
		memcpy(text + 8 * (size_t)i, number, 8);
	}
	cr_assert_eq(
		b2f_encode_guess_typesize(enc, text, sizeof(text), &guess), 0);
	cr_assert_eq(guess, 8);
	cr_assert_eq(b2f_encode_guess_typesize(enc, text, B2F_ENCODE_SHORT,
					       &guess),
		     0);
	cr_assert_eq(guess, 1);
	/* It is no text if one byte is none. */
	text[B2F_ENCODE_SHORT - 1] = 0;
	cr_assert_eq(b2f_encode_guess_typesize(enc, text, B2F_ENCODE_SHORT,
					       &guess),
		     0);
	cr_assert_eq(guess, 8);
}

Test(chunk_encode, buffers_are_given_back)
{
	OWN(free) uint8_t *data = make_data(1, 100000, 5);
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 9, 8);

	expect_back(&options, data, 100000);
	cr_assert_gt(enc->filter[0].size, 10000);
	b2f_encoder_trim(enc, 10000);
	cr_assert_eq(enc->filter[0].size, 0);
	expect_back(&options, data, 100000);
}
