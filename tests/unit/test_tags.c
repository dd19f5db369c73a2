/* SPDX-License-Identifier: BSD-3-Clause */
/* test_tags.c - the list of tags behind an index chunk */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "index/index_write.h"
#include "index/tags.h"
#include "tests/unit/exact.h"

#define ZEROS (UINT64_C(0x81) << 56)

/* An index of chunks of 10 bytes, and the values parsed from it. */
struct made {
	struct b2f_frame_header header;
	uint8_t *raw;
	size_t size;
	struct b2f_entries entries;
};

static struct b2f_encoder *enc;
static struct b2f_decoder *dec;

static void begin(void)
{
	cr_assert_eq(b2f_encoder_new(&enc), 0);
	cr_assert_eq(b2f_decoder_new(&dec), 0);
}

static void end(void)
{
	b2f_encoder_free(enc);
	b2f_decoder_free(dec);
}

TestSuite(tags, .init = begin, .fini = end);

static uint64_t stored(uint32_t id, uint32_t tag)
{
	return id | (uint64_t)tag << 32;
}

/* The bytes from the index chunk up to the trailer, in a buffer of their own */
static void cut_out(struct made *m, uint8_t *index, size_t size)
{
	size_t begin = m->header.header_len;

	m->size = size - begin - B2F_FRAME_TRAILER_PLAIN;
	m->raw = exact_copy(index + begin, m->size);
	free(index);
}

static struct made make(const uint64_t *entries, uint64_t n, uint64_t before)
{
	uint8_t head[B2F_FRAME_HEADER_PLAIN], trailer[B2F_FRAME_TRAILER_PLAIN];
	struct made m = {.header = {.header_len = B2F_FRAME_HEADER_PLAIN,
				    .typesize = 1,
				    .chunksize = 10,
				    .sparse = true,
				    .splitmode = 4,
				    .nbytes = 10 * n}};
	const struct b2f_index_parts parts = {.header = m.header,
					      .header_bytes = head,
					      .entries = entries,
					      .nentries = n,
					      .len_before = before,
					      .trailer_bytes = trailer,
					      .trailer_len = sizeof(trailer)};
	uint8_t *index = NULL;
	size_t size = 0;

	b2f_frame_header_write(&m.header, head);
	b2f_trailer_write(trailer);
	cr_assert_eq(b2f_index_write(&parts, &index, &size, NULL), 0);
	cr_assert_eq(b2f_load_be64(index + 16), size);
	cut_out(&m, index, size);
	return m;
}

static void made_free(struct made *m)
{
	b2f_entries_fini(&m->entries);
	free(m->raw);
}

static int parse(struct made *m)
{
	struct b2f_reserved none = {0};
	struct b2f_why why = {""};
	int err;

	b2f_entries_fini(&m->entries);
	err = b2f_entries_parse(m->raw, m->size, &m->header, dec, &none,
				&m->entries, &why);
	if (!err)
		err = b2f_tags_parse(m->raw, m->size, dec, &none, &m->entries,
				     &why);
	cr_assert_eq(err != 0, why.text[0] != 0);
	return err;
}

/* Checks that the list gives the entries back; returns its bytes. */
static size_t expect_same(const uint64_t *entries, uint64_t n)
{
	struct made m = make(entries, n, 0);
	size_t size = m.size;

	cr_assert_eq(parse(&m), 0);
	cr_assert_eq(m.entries.n, n);
	for (uint64_t i = 0; i < n; i++)
		cr_assert_eq(b2f_entries_raw(&m.entries, i), entries[i]);
	made_free(&m);
	return size;
}

Test(tags, come_back_as_they_were)
{
	static uint64_t entries[5000];
	const uint64_t one[] = {stored(0, B2F_TAG_MIN)};
	const uint64_t last[] = {stored(INT32_MAX, B2F_TAG_MAX)};
	uint64_t seed = 1;

	expect_same(one, 1);
	expect_same(last, 1);
	for (unsigned int kinds = 1; kinds < 5; kinds++) {
		for (uint32_t i = 0; i < 5000; i++) {
			uint32_t tag = B2F_TAG_MIN |
				       (uint32_t)exact_random(&seed) >> 2;

			switch (exact_random(&seed) % kinds) {
			case 0:
				entries[i] = stored(i, tag);
				break;
			case 1:
				entries[i] = ZEROS;
				break;
			case 2:
				entries[i] = stored(i, 0);
				break;
			default:
				entries[i] = entries[i / 2];
			}
		}
		for (uint32_t n = 1; n < 5000; n += n / 2 + 1)
			expect_same(entries, n);
	}
}

Test(tags, without_any_there_is_no_list)
{
	const uint64_t entries[] = {7, ZEROS, 9};
	struct made m = make(entries, 3, 0);

	cr_assert_eq(b2f_load_le32(m.raw + 12), m.size);
	cr_assert_eq(parse(&m), 0);
	made_free(&m);
}

Test(tags, take_little_if_they_follow_each_other)
{
	const uint32_t n = 100000;
	uint64_t *entries = calloc(n, sizeof(*entries)), seed = 3;
	size_t plain, tagged;

	for (uint32_t i = 0; i < n; i++)
		entries[i] = i;
	plain = expect_same(entries, n);
	for (uint32_t i = 0; i < n; i++)
		entries[i] = stored(i, B2F_TAG_MIN + 5 + i);
	tagged = expect_same(entries, n);
	cr_assert_leq(tagged, plain + n / 16, "%zu, %zu", tagged, plain);
	for (uint32_t i = 0; i < n; i++)
		entries[i] = stored(i, B2F_TAG_MIN |
					       (uint32_t)exact_random(&seed) >>
						       2);
	tagged = expect_same(entries, n);
	cr_assert_leq(tagged, plain + 4 * n + 100, "%zu, %zu", tagged, plain);
	free(entries);
}

Test(tags, lengths_of_indexes_in_a_row_differ)
{
	uint64_t entries[] = {stored(0, B2F_TAG_MIN), stored(1, B2F_TAG_MAX)};
	const size_t around = B2F_FRAME_HEADER_PLAIN + B2F_FRAME_TRAILER_PLAIN;
	size_t len = 1000;

	for (uint32_t i = 0; i < 1000; i++) {
		struct made m = make(entries, 1 + i % 2, len);
		size_t now = around + m.size;

		cr_assert_eq(now % 1024, (len + 1) % 1024);
		cr_assert_leq(now, around + 1500);
		cr_assert_eq(parse(&m), 0);
		cr_assert_eq(b2f_entries_raw(&m.entries, 0), entries[0]);
		entries[0] = stored(i, B2F_TAG_MIN + i);
		len = now;
		made_free(&m);
	}
}

Test(tags, of_other_chunks_are_refused)
{
	static uint64_t entries[300];
	struct made m, other;
	uint32_t at, at_other;
	uint8_t *joined;

	for (uint32_t i = 0; i < 300; i++)
		entries[i] = stored(i, B2F_TAG_MIN + 9 * i);
	m = make(entries, 300, 0);
	/* A list for another number of chunks, or for special chunks. */
	for (uint32_t n = 1; n < 300; n += 149) {
		other = make(entries, n, 0);
		at = b2f_load_le32(m.raw + 12);
		at_other = b2f_load_le32(other.raw + 12);
		joined = exact_new(at + other.size - at_other, 0);
		memcpy(joined, m.raw, at);
		memcpy(joined + at, other.raw + at_other,
		       other.size - at_other);
		free(other.raw);
		other.raw = joined;
		other.size = at + other.size - at_other;
		other.header = m.header;
		cr_assert_eq(parse(&other), B2F_ECORRUPT);
		made_free(&other);
	}
	made_free(&m);
}

Test(tags, any_damage_is_an_error_or_tags)
{
	static uint64_t entries[100];
	struct made m;
	uint32_t at;

	for (uint32_t i = 0; i < 100; i++)
		entries[i] = i % 7 ? stored(i, B2F_TAG_MIN + 9 * i) : ZEROS;
	m = make(entries, 100, 0);
	at = b2f_load_le32(m.raw + 12);
	for (size_t size = at; size < m.size; size++) {
		struct made cut = {.header = m.header, .size = size};

		cut.raw = exact_copy(m.raw, size);
		cr_assert_eq(parse(&cut) != 0, size - at >= 4);
		made_free(&cut);
	}
	for (size_t bit = 8 * at; bit < 8 * m.size; bit++) {
		m.raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
		(void)!parse(&m);
		m.raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	cr_assert_eq(parse(&m), 0);
	made_free(&m);
}

Test(tags, are_drawn_at_random_and_counted_on)
{
	uint32_t first = b2f_tag_draw();

	cr_assert_geq(first, B2F_TAG_MIN);
	cr_assert_leq(first, B2F_TAG_MAX);
	cr_assert(first != b2f_tag_draw() || first != b2f_tag_draw());
	cr_assert_eq(b2f_tag_next(B2F_TAG_MIN), B2F_TAG_MIN + 1);
	cr_assert_eq(b2f_tag_next(B2F_TAG_MAX), B2F_TAG_MIN);
}
