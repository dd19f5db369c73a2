/* SPDX-License-Identifier: BSD-3-Clause */
/* test_pipeline.c - the six filter slots of a chunk, and the filter table */
#include <criterion/criterion.h>

#include "b2frame/error.h"
#include "b2frame/names.h"
#include "codec/codec.h"
#include "filter/pipeline.h"
#include "tests/unit/exact.h"

static const struct b2f_filter_block plain = {
	.typesize = 4,
	.schunk_typesize = 4,
	.chunk_version = 5,
};

/* Undoes @pipeline over @encoded; the caller frees the result. */
static uint8_t *decode(const struct b2f_pipeline *pipeline,
		       const struct b2f_filter_block *block,
		       const void *encoded, size_t nbytes)
{
	uint8_t *dst = exact_new(nbytes, 0xdd), *tmp = NULL;

	cr_assert_eq(b2f_pipeline_check(pipeline, block, nbytes, NULL), 0);
	if (b2f_pipeline_needs_tmp(pipeline))
		tmp = exact_new(nbytes, 0xee);
	memcpy(b2f_pipeline_start(pipeline, dst, tmp), encoded, nbytes);
	b2f_pipeline_decode(pipeline, block, dst, tmp, nbytes);
	free(tmp);
	return dst;
}

static void expect(const struct b2f_pipeline *pipeline,
		   const struct b2f_filter_block *block, const void *encoded,
		   const void *want, size_t nbytes)
{
	OWN(free) uint8_t *got = decode(pipeline, block, encoded, nbytes);

	cr_assert_eq(memcmp(got, want, nbytes), 0);
}

Test(pipeline, without_filters_the_block_stays)
{
	struct b2f_pipeline pipeline = {{0}, {0}};

	cr_assert_not(b2f_pipeline_needs_tmp(&pipeline));
	cr_assert_not(b2f_pipeline_needs_ref(&pipeline));
	expect(&pipeline, &plain, "abcdefgh", "abcdefgh", 8);
}

Test(pipeline, lossy_filters_leave_the_block_alone)
{
	struct b2f_pipeline pipeline = {{4, 36, 0, 4, 0, 36},
					{10, 255, 0, 0, 0, 3}};

	cr_assert_not(b2f_pipeline_needs_tmp(&pipeline));
	expect(&pipeline, &plain, "abcdefgh", "abcdefgh", 8);
}

Test(pipeline, one_shuffle_comes_from_the_other_buffer)
{
	struct b2f_pipeline pipeline = {{[5] = 1}, {0}};
	uint8_t dst, tmp;

	cr_assert(b2f_pipeline_needs_tmp(&pipeline));
	cr_assert_eq(b2f_pipeline_start(&pipeline, &dst, &tmp), &tmp);
	expect(&pipeline, &plain, "aebfcgdhx", "abcdefghx", 9);
}

Test(pipeline, two_shuffles_come_from_the_same_buffer)
{
	struct b2f_pipeline pipeline = {{[1] = 1, [4] = 1}, {[1] = 4, [4] = 2}};
	uint8_t dst, tmp;

	cr_assert(b2f_pipeline_needs_tmp(&pipeline));
	cr_assert_eq(b2f_pipeline_start(&pipeline, &dst, &tmp), &dst);
	/* By 4: aebfcgdh; of that by 2: abcdefgh. */
	expect(&pipeline, &plain, "abcdefgh", "abcdefgh", 8);
	pipeline.meta[4] = 4;
	/* aebfcgdh by 4: aceg fdhb... taken in turn. */
	expect(&pipeline, &plain, "acegbdfh", "abcdefgh", 8);
}

Test(pipeline, the_last_slot_is_undone_first)
{
	/* Delta over shuffled bytes, and shuffle over delta: not the same. */
	struct b2f_pipeline after = {{1, 3}, {0}};
	struct b2f_pipeline before = {{3, 1}, {0}};
	static const uint8_t want[] = {1, 2, 3, 4, 5, 6, 7, 8};
	static const uint8_t delta_last[] = {
		1, 5, 2, 6, 0x1 ^ 0x3, 0x5 ^ 0x7, 0x2 ^ 0x4, 0x6 ^ 0x8};
	static const uint8_t shuffle_last[] = {0x1, 0x1 ^ 0x5, 0x2, 0x2 ^ 0x6,
					       0x3, 0x3 ^ 0x7, 0x4, 0x4 ^ 0x8};

	expect(&after, &plain, delta_last, want, 8);
	expect(&before, &plain, shuffle_last, want, 8);
	cr_assert(b2f_pipeline_needs_ref(&after));
	cr_assert(b2f_pipeline_needs_ref(&before));
}

Test(pipeline, later_blocks_are_undone_with_block_0)
{
	struct b2f_pipeline pipeline = {{[2] = 3}, {0}};
	struct b2f_filter_block block = plain;

	block.ref = (const uint8_t *)"ABCDEFGHIJ";
	expect(&pipeline, &block, "        y", "abcdefghy", 9);
}

/* Checks the lz4 stream of a chunk by C-Blosc2. */
static void expect_notes(const struct b2f_pipeline *pipeline,
			 unsigned int typesize, const char *stream, size_t size,
			 const uint8_t *want, size_t want_size)
{
	struct b2f_filter_block block = {
		.typesize = typesize,
		.schunk_typesize = typesize,
		.chunk_version = 5,
	};
	OWN(free) uint8_t *encoded = exact_new(want_size, 0);
	struct b2f_codec_states states = {.dict = NULL};

	cr_assert_eq(b2f_codec_states_decode(
			     &states, B2F_FORMAT_LZ4,
			     b2f_bytes_at((const uint8_t *)stream, size),
			     b2f_room_at(encoded, want_size), NULL),
		     0);
	b2f_codec_states_fini(&states);
	expect(pipeline, &block, encoded, want, want_size);
}

Test(pipeline, shuffle_and_bytedelta_of_the_format_notes_decode)
{
	struct b2f_pipeline pipeline = {{1, 35}, {0, 4}};
	uint8_t want[128] = {0};

	for (size_t i = 0; i < 32; i++)
		want[4 * i] = (uint8_t)(7 * i);
	expect_notes(&pipeline, 4,
		     "\x2f\x00\x07\x01\x00\x0b\x1f\x00\x01\x00\x47\x50\x00\x00"
		     "\x00\x00\x00",
		     17, want, sizeof(want));
}

Test(pipeline, the_shuffled_tail_of_the_format_notes_decodes)
{
	struct b2f_pipeline pipeline = {{[5] = 1}, {0}};
	uint8_t want[48];

	for (size_t i = 0; i < 48; i++)
		want[i] = i % 3 == 0 ? 7 : i % 3 == 1 ? 0 : (uint8_t)i;
	expect_notes(&pipeline, 3,
		     "\x1b\x07\x01\x00\x1b\x00\x01\x00\xf0\x01\x02\x05\x08\x0b"
		     "\x0e\x11\x14\x17\x1a\x1d\x20\x23\x26\x29\x2c\x2f",
		     26, want, sizeof(want));
}

Test(pipeline, the_bitshuffled_tail_of_the_format_notes_decodes)
{
	struct b2f_pipeline pipeline = {{[5] = 2}, {0}};
	uint8_t want[44];

	for (size_t i = 0; i < 44; i++)
		want[i] = i % 2 ? 0x01 : 0xf0;
	expect_notes(&pipeline, 2,
		     "\x13\x00\x01\x00\x15\xff\x01\x00\x03\x11\x00\x03\x02\x00"
		     "\xc0\xf0\x01\xf0\x01\xf0\x01\xf0\x01\xf0\x01\xf0\x01",
		     27, want, sizeof(want));
}

Test(pipeline, a_second_delta_is_refused)
{
	struct b2f_pipeline pipeline = {{3, 1, 3}, {0}};

	cr_assert_eq(b2f_pipeline_check(&pipeline, &plain, 8, NULL),
		     B2F_EUNSUPPORTED);
}

Test(pipeline, an_unknown_filter_is_refused_by_its_number)
{
	struct b2f_pipeline pipeline = {{[3] = 77}, {0}};
	struct b2f_why why = {""};

	cr_assert_eq(b2f_pipeline_check(&pipeline, &plain, 64, &why),
		     B2F_EUNSUPPORTED);
	cr_assert_neq(strstr(why.text, "77"), NULL);
}

Test(pipeline, a_filter_that_refuses_the_block_is_heard)
{
	struct b2f_pipeline pipeline = {{1, 2, 3, 4, 36, 32}, {0}};
	struct b2f_why why = {""};

	cr_assert_eq(b2f_pipeline_check(&pipeline, &plain, 64, &why),
		     B2F_EUNSUPPORTED);
	cr_assert_str_not_empty(why.text);
}

Test(pipeline, a_type_size_of_0_is_refused)
{
	struct b2f_pipeline pipeline = {{1}, {0}};
	struct b2f_filter_block block = {.typesize = 0};

	cr_assert_eq(b2f_pipeline_check(&pipeline, &block, 64, NULL),
		     B2F_ECORRUPT);
}

Test(pipeline, every_filter_of_the_format_notes_has_its_number_and_name)
{
	static const unsigned int ids[] = {1, 2, 3, 4, 32, 33, 34, 35, 36};

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		cr_assert_not_null(b2f_filter_by_id(ids[i]));
		cr_assert_eq(b2f_filter_by_id(ids[i])->id, ids[i]);
		cr_assert_str_eq(b2f_filter_name(ids[i]),
				 b2f_filter_by_id(ids[i])->name);
	}
	cr_assert_null(b2f_filter_by_id(0));
	cr_assert_null(b2f_filter_by_id(5));
	cr_assert_str_eq(b2f_filter_name(0), "none");
	cr_assert_str_eq(b2f_filter_name(200), "unknown");
}
