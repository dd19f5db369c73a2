/* SPDX-License-Identifier: BSD-3-Clause */
/* test_index_write.c - a written index is parsed to the same entries */
#include <criterion/criterion.h>

#include "index/fingerprint.h"
#include "index/index_write.h"
#include "tests/support/hex.h"
#include "tests/support/vectors.h"

static const struct b2f_frame_header settings = {
	.header_len = B2F_FRAME_HEADER_PLAIN,
	.typesize = 4,
	.chunksize = -1,
	.version = 2,
	.sparse = true,
	.codec = B2F_CODEC_LZ4,
	.clevel = 5,
	.splitmode = 4,
	.pipeline = {.filter = {[5] = B2F_FILTER_SHUFFLE}},
};

struct made {
	uint8_t *data;
	size_t size;
};

/* Writes an index in the place of one of @len_before bytes. */
static struct made write_next(const struct b2f_frame_header *header,
			      const uint64_t *entries, uint64_t n,
			      uint64_t len_before, uint32_t draw)
{
	uint8_t head[B2F_FRAME_HEADER_PLAIN], trailer[B2F_FRAME_TRAILER_PLAIN];
	struct b2f_index_parts parts = {
		.header = *header,
		.header_bytes = head,
		.entries = entries,
		.nentries = n,
		.len_before = len_before,
		.len_draw = draw,
		.trailer_bytes = trailer,
		.trailer_len = sizeof(trailer),
		.sealed = true,
	};
	struct made made = {0};

	b2f_frame_header_write(header, head);
	b2f_trailer_write(trailer);
	cr_assert_eq(b2f_index_write(&parts, &made.data, &made.size, NULL), 0);
	return made;
}

static struct made write_index(const struct b2f_frame_header *header,
			       const uint64_t *entries, uint64_t n)
{
	return write_next(header, entries, n, 0, 0);
}

static struct b2f_entries parse_back(const struct made *made,
				     struct b2f_frame_header *h)
{
	struct b2f_entries entries = {0};
	struct b2f_decoder *dec = NULL;
	struct b2f_why why = {""};
	uint32_t trailer = 0;

	cr_assert_eq(b2f_frame_header_parse(made->data, made->size, made->size,
					    h, &why),
		     0, "%s", why.text);
	cr_assert_eq(h->frame_len, made->size);
	cr_assert_eq(
		b2f_trailer_len_parse(made->data + made->size - B2F_FRAME_TAIL,
				      h, &trailer, NULL),
		0);
	cr_assert_eq(b2f_decoder_new(&dec), 0);
	if (h->nbytes)
		cr_assert_eq(
			b2f_entries_parse(made->data + h->header_len,
					  made->size - h->header_len - trailer,
					  h, dec, &(struct b2f_reserved){0},
					  &entries, &why),
			0, "%s", why.text);
	b2f_decoder_free(dec);
	return entries;
}

static void expect_round_trip(const uint64_t *values, uint64_t n)
{
	struct b2f_frame_header header = settings, back;
	struct b2f_entries entries;
	struct made made;

	header.chunksize = 64;
	header.nbytes = 64 * n;
	header.cbytes = 96 * n;
	made = write_index(&header, values, n);
	entries = parse_back(&made, &back);
	cr_assert_eq(entries.n, n);
	cr_assert_eq(back.general_flags, 0x12);
	cr_assert_eq(back.chunksize, 64);
	cr_assert_eq(back.cbytes, 96 * n + b2f_index_margin(values, n));
	cr_assert_eq(back.codec, B2F_CODEC_LZ4);
	cr_assert_eq(back.pipeline.filter[5], B2F_FILTER_SHUFFLE);
	for (uint64_t i = 0; i < n; i++) {
		struct b2f_entry e = b2f_entries_get(&entries, i);

		cr_assert_eq(e.special ? b2f_entry_raw(e.special) : e.place,
			     values[i], "entry %lu", i);
	}
	b2f_entries_fini(&entries);
	free(made.data);
}

Test(index_write, the_margin_of_the_size_told_is_above_all_ids)
{
	const uint64_t zeros = b2f_entry_raw(B2F_SPECIAL_ZEROS);
	const uint64_t values[] = {7, zeros, 0x40000001u | UINT64_C(5) << 32, 3};

	cr_assert_eq(b2f_index_margin(values, 0), 0);
	cr_assert_eq(b2f_index_margin(&zeros, 1), 32);
	cr_assert_eq(b2f_index_margin(values, 1), 39);
	cr_assert_eq(b2f_index_margin(values, 4), 0x40000001u + 32);
}

/* The length of an index of @n entries behind one of @len_before bytes. */
static uint64_t next_len(uint64_t n, uint64_t len_before, uint32_t draw)
{
	struct b2f_frame_header header = settings;
	uint64_t *entries = calloc(n, sizeof(*entries));
	struct made made;

	for (uint64_t i = 0; i < n; i++)
		entries[i] = i + 1;
	header.chunksize = 1000;
	header.nbytes = n * 1000;
	made = write_next(&header, entries, n, len_before, draw);
	free(made.data);
	free(entries);
	return made.size;
}

Test(index_write, a_thousand_indexes_in_a_row_differ_in_length)
{
	for (uint64_t n = 1; n < 1000; n += 333) {
		uint64_t first = next_len(n, 1, 0), len = first;

		for (int i = 1; i < 1024; i++) {
			len = next_len(n, len, 0);
			cr_assert_neq(len, first, "%d of %lu", i, n);
		}
		cr_assert_eq(next_len(n, len, 0), first);
	}
}

Test(index_write, of_few_chunks_it_is_longer_than_any_of_c_blosc2)
{
	/* Header, trailer, header of the chunk, uncompressed entries. */
	for (uint64_t n = 1; n <= 256; n++)
		cr_assert_gt(next_len(n, 1, 0), 97 + 35 + 32 + 8 * (n + 32));
}

Test(index_write, behind_an_index_of_others_the_length_is_drawn)
{
	uint64_t base = next_len(6, 212, 1024);

	for (uint32_t draw = 1; draw < 1024; draw += 10)
		cr_assert_eq(next_len(6, 212, draw), base + draw);
}

Test(index_write, any_number_of_entries_comes_back)
{
	static const uint64_t sizes[] = {1, 2, 3, 4, 5, 100, 2049, 100000};

	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		uint64_t *values = calloc(sizes[k], sizeof(*values));

		for (uint64_t i = 0; i < sizes[k]; i++)
			values[i] = i;
		expect_round_trip(values, sizes[k]);
		for (uint64_t i = 0; i < sizes[k]; i++)
			values[i] = i * 2654435761u % INT32_MAX;
		expect_round_trip(values, sizes[k]);
		for (uint64_t i = 0; i < sizes[k]; i++)
			values[i] = b2f_entry_raw(B2F_SPECIAL_ZEROS);
		expect_round_trip(values, sizes[k]);
		values[sizes[k] / 2] = b2f_entry_raw(B2F_SPECIAL_NAN);
		expect_round_trip(values, sizes[k]);
		free(values);
	}
}

Test(index_write, an_empty_frame_is_the_one_of_c_blosc2)
{
	/*
	 * Equal to stock's, except for being sparse, the fingerprint, and the
	 * mark in the place of the numbers of threads.
	 */
	static const uint8_t mark[] = {0xd1, 0x80, 0, 0xd1, 0x80, 0};
	OWN_HEX struct hex stock = hex_new(HEX_CFRAME_EMPTY);
	struct made made = write_index(&settings, NULL, 0);

	cr_assert_eq(made.size, stock.size);
	stock.data[26] = 1;
	memcpy(stock.data + 62, mark, sizeof(mark));
	cr_assert_eq(memcmp(made.data, stock.data, stock.size - 17), 0);
	cr_assert_eq(made.data[made.size - 17], B2F_FINGERPRINT_TYPE);
	free(made.data);
}

Test(index_write, flags_tell_of_variable_and_vl_chunks)
{
	static const uint64_t one[] = {0};
	struct b2f_frame_header header = settings, back;
	const struct {
		int32_t chunksize;
		uint8_t before, after;
	} rows[] = {{64, 0x12, 0x12},
		    {0, 0x12, 0x53},
		    {64, 0x93, 0x93},
		    {0, 0x93, 0xd3}};

	header.nbytes = 64;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct b2f_entries entries;
		struct made made;

		header.chunksize = rows[i].chunksize;
		header.general_flags = rows[i].before;
		made = write_index(&header, one, 1);
		entries = parse_back(&made, &back);
		cr_assert_eq(back.general_flags, rows[i].after, "row %zu", i);
		b2f_entries_fini(&entries);
		free(made.data);
	}
}

Test(index_write, parts_that_contradict_each_other_are_refused)
{
	struct b2f_index_parts parts = {
		.header = settings, .trailer_len = 35, .nentries = 1};
	uint8_t *out = NULL;
	size_t size;

	cr_assert_eq(b2f_index_write(&parts, &out, &size, NULL), -EINVAL,
		     "a chunk in an empty frame");
	parts.nentries = UINT32_MAX;
	cr_assert_eq(b2f_index_write(&parts, &out, &size, NULL), B2F_ETOOBIG);
	parts.nentries = 0;
	parts.trailer_len = B2F_SECTION_MAX + 1;
	cr_assert_eq(b2f_index_write(&parts, &out, &size, NULL), B2F_ETOOBIG);
}
