/* SPDX-License-Identifier: BSD-3-Clause */
/* test_index.c - headers, entries and metalayers of indexes */
#include <criterion/criterion.h>

#include "base/bytes.h"
#include "index/index.h"
#include "tests/support/hex.h"
#include "tests/support/vectors.h"

static struct b2f_frame_header parse(const struct hex *raw)
{
	struct b2f_frame_header h;

	cr_assert_eq(b2f_frame_header_parse(raw->data, raw->size, raw->size, &h,
					    NULL),
		     0);
	return h;
}

/*
 * Parses the index chunk between header and trailer of a sparse frame; unless
 * @cbytes is 0, as that of a contiguous frame with @cbytes of chunks.
 */
static int parse_as(const struct hex *raw, uint64_t cbytes,
		    struct b2f_entries *out, struct b2f_why *why)
{
	struct b2f_frame_header h = parse(raw);
	struct b2f_decoder *dec = NULL;
	uint32_t trailer = 0;
	int err;

	cr_assert_eq(
		b2f_trailer_len_parse(raw->data + raw->size - B2F_FRAME_TAIL,
				      &h, &trailer, NULL),
		0);
	cr_assert_eq(b2f_decoder_new(&dec), 0);
	h.sparse = cbytes == 0;
	h.cbytes = cbytes ? cbytes : h.cbytes;
	err = b2f_entries_parse(raw->data + h.header_len,
				raw->size - h.header_len - trailer, &h, dec,
				&(struct b2f_reserved){0}, out, why);
	b2f_decoder_free(dec);
	return err;
}

static int parse_entries(const struct hex *raw, struct b2f_entries *out,
			 struct b2f_why *why)
{
	return parse_as(raw, 0, out, why);
}

Test(index, header_of_a_sparse_frame)
{
	OWN_HEX struct hex raw = hex_new(HEX_SFRAME_INDEX);
	struct b2f_frame_header h = parse(&raw);

	cr_assert(h.sparse);
	cr_assert_eq(h.version, 2);
	cr_assert_eq(h.header_len, 97);
	cr_assert_eq(h.frame_len, 180);
	cr_assert_eq(h.nbytes, 128);
	cr_assert_eq(h.cbytes, 96);
	cr_assert_eq(h.typesize, 4);
	cr_assert_eq(h.chunksize, 64);
	cr_assert_eq(h.codec, 1);
	cr_assert_eq(h.clevel, 5);
	cr_assert_eq(h.splitmode, 4);
	cr_assert_eq(h.pipeline.filter[5], B2F_FILTER_SHUFFLE);
}

Test(index, entries_are_files_or_special)
{
	OWN_HEX struct hex raw = hex_new(HEX_SFRAME_INDEX);
	struct b2f_entries e = {0};

	cr_assert_eq(parse_entries(&raw, &e, NULL), 0);
	cr_assert_eq(e.n, 2);
	cr_assert_eq(e.nspecial, 1);
	cr_assert_eq(b2f_entries_get(&e, 0).special, B2F_SPECIAL_NONE);
	cr_assert_eq(b2f_entries_get(&e, 0).place, 0);
	cr_assert_eq(b2f_entries_get(&e, 1).special, B2F_SPECIAL_ZEROS);
	b2f_entries_fini(&e);
}

Test(index, one_value_for_all_chunks_takes_no_memory)
{
	OWN_HEX struct hex raw = hex_new(HEX_SFRAME_FILL_ZEROS_INDEX);
	struct b2f_entries e = {0};

	cr_assert_eq(parse_entries(&raw, &e, NULL), 0);
	cr_assert_eq(e.n, 3);
	cr_assert_eq(e.nspecial, 3);
	cr_assert_null(e.raw);
	cr_assert_eq(b2f_entries_get(&e, 2).special, B2F_SPECIAL_ZEROS);
	b2f_entries_fini(&e);
}

/*
 * Puts @value into the vector's index, whose entries are stored uncompressed, 8
 * bytes each, and parses it; @cbytes as for parse_as().
 */
static int with_entry_as(uint64_t value, uint64_t cbytes, struct b2f_why *why)
{
	struct hex raw = hex_new(HEX_SFRAME_INDEX);
	struct b2f_entries e = {0};
	int err;

	b2f_store_le64(raw.data + 97 + 32 + 8, value);
	err = parse_as(&raw, cbytes, &e, why);
	b2f_entries_fini(&e);
	hex_free(&raw);
	return err;
}

static int with_entry(uint64_t value, struct b2f_why *why)
{
	return with_entry_as(value, 0, why);
}

Test(index, entries_that_are_neither_are_refused)
{
	struct b2f_why why = {""};

	cr_assert_eq(with_entry(0, &why), 0);
	cr_assert_eq(with_entry(INT32_MAX, &why), 0);
	cr_assert_eq(with_entry(UINT64_C(0x8200000000000000), &why), 0);
	cr_assert_eq(with_entry(UINT64_C(0x8400000000000000), &why), 0);
	cr_assert_eq(with_entry(UINT64_C(1) << 32, &why), B2F_ECORRUPT);
	cr_assert_not_null(
		strstr(why.text, "chunk 1 the invalid place 0x100000000"));
	cr_assert_eq(with_entry(UINT64_C(1) << 63, &why), B2F_ECORRUPT);
	cr_assert_eq(with_entry(UINT64_C(0x8300000000000000), &why),
		     B2F_ECORRUPT);
	cr_assert_eq(with_entry(UINT64_C(0x8100000000000001), &why),
		     B2F_ECORRUPT);
	cr_assert_eq(with_entry(UINT64_MAX, &why), B2F_ECORRUPT);
}

Test(index, places_in_one_file_have_room_for_a_chunk)
{
	struct b2f_why why = {""};

	cr_assert_eq(with_entry_as(1000 - B2F_CHUNK_HEADER_MIN, 1000, &why), 0);
	cr_assert_eq(with_entry_as(1001 - B2F_CHUNK_HEADER_MIN, 1000, &why),
		     B2F_ECORRUPT);
	cr_assert_not_null(
		strstr(why.text, "chunk 1 the invalid place 0x3d9"));
}

Test(index, an_index_must_hold_64_bit_numbers)
{
	OWN_HEX struct hex raw = hex_new(HEX_SFRAME_INDEX);
	struct b2f_entries e = {0};

	raw.data[97 + 3] = 4;
	cr_assert_eq(parse_entries(&raw, &e, NULL), B2F_ECORRUPT);
}

Test(index, the_empty_frame_has_two_empty_sections)
{
	OWN_HEX struct hex raw = hex_new(HEX_CFRAME_EMPTY);
	struct b2f_meta_list list = {0};

	cr_assert_eq(b2f_meta_parse(raw.data, 97, &list, NULL), 0);
	cr_assert_eq(list.n, 0);
	b2f_meta_list_fini(&list);
	cr_assert_eq(
		b2f_vlmeta_parse(raw.data + 97, raw.size - 97, &list, NULL), 0);
	cr_assert_eq(list.n, 0);
	cr_assert_null(b2f_meta_find(&list, "b2nd"));
	b2f_meta_list_fini(&list);
}

/* The section of a header with one metalayer, "ab", of content "xyz". */
static const char one_meta[] = "93cd000cde0001"
			       "a26162"
			       "d200000062"
			       "dc0001"
			       "c600000003"
			       "78797a";

static struct hex header_with(const char *section)
{
	struct hex tail = hex_new(section), raw;

	raw.size = B2F_FRAME_HEADER_FIXED + tail.size;
	raw.data = calloc(1, raw.size);
	memcpy(raw.data + B2F_FRAME_HEADER_FIXED, tail.data, tail.size);
	hex_free(&tail);
	/* The content is at 87 + 7 (head) + 8 (map) + 3 (array). */
	raw.data[B2F_FRAME_HEADER_FIXED + 14] = 87 + 7 + 8 + 3;
	return raw;
}

Test(index, a_metalayer_by_name)
{
	OWN_HEX struct hex raw = header_with(one_meta);
	struct b2f_meta_list list = {0};
	const struct b2f_meta *m;

	cr_assert_eq(b2f_meta_parse(raw.data, raw.size, &list, NULL), 0);
	m = b2f_meta_find(&list, "ab");
	cr_assert_not_null(m);
	cr_assert_eq(m->size, 3);
	cr_assert_eq(memcmp(m->content, "xyz", 3), 0);
	cr_assert_null(b2f_meta_find(&list, "a"));
	b2f_meta_list_fini(&list);
}

Test(index, content_beyond_the_section_is_refused)
{
	OWN_HEX struct hex raw = header_with(one_meta);
	struct b2f_meta_list list = {0};

	raw.data[raw.size - 4] = 4;
	cr_assert_eq(b2f_meta_parse(raw.data, raw.size, &list, NULL),
		     B2F_ECORRUPT);
	cr_assert_null(list.items);
}
