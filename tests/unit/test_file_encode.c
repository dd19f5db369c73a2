/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_file_encode.c - the encoding of written pages: which blocks are encoded,
 * and the item size that the first pages tell
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/encoder.h"
#include "frame/frame.h"
#include "tests/support/scratch_file.h"
#include "tests/unit/exact.h"

#define CHUNKSIZE (1u << 20)
#define BLOCKSIZE (64u << 10)

static void reopen(struct scratch *s)
{
	b2f_file_close(s->file);
	open_for_writing(s);
}

static struct scratch begin_with(uint32_t typesize, unsigned int clevel)
{
	const struct b2f_runtime_options options = {
		.cache_bytes = 4 << 20, .dirty_bytes = 4 << 20, .nworkers = 2};
	struct b2f_settings settings = b2f_settings_default();
	struct scratch s;

	settings.typesize = typesize;
	settings.blocksize = typesize > 1 ? BLOCKSIZE : 0;
	settings.chunksize = (int32_t)CHUNKSIZE;
	settings.clevel = (uint8_t)clevel;
	s = scratch_new(&settings, &options);
	s.options.guess_typesize = true;
	open_for_writing(&s);
	return s;
}

static struct scratch begin(uint32_t typesize)
{
	return begin_with(typesize, 1);
}

static int commit(struct scratch *s)
{
	return b2f_file_commit(s->file, B2F_COMMIT_VISIBLE);
}

static void put(struct scratch *s, const void *data, size_t n, uint64_t off)
{
	cr_assert_eq(b2f_file_pwrite(s->file, data, n, off), (ssize_t)n);
}

/* Items that compress well only if shuffled as items of @typesize bytes. */
static uint8_t *items(uint32_t typesize, size_t n)
{
	uint8_t *data = exact_noise(n, typesize);

	for (size_t i = 0; i < n; i++) {
		if (i % typesize >= typesize / 2)
			data[i] = (uint8_t)(i % typesize * 3 + (i >> 14));
	}
	return data;
}

/* The bytes of a chunk file. */
struct stored {
	uint8_t *bytes;
	size_t size;
};

static struct stored read_stored(const struct scratch *s, uint32_t id)
{
	struct stored st;
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%08X.chunk", s->frame, id);
	f = fopen(path, "rb");
	cr_assert_not_null(f, "%s", path);
	st.bytes = malloc(2 * CHUNKSIZE);
	st.size = fread(st.bytes, 1, 2 * CHUNKSIZE, f);
	fclose(f);
	return st;
}

static void write_stored(const struct scratch *s, uint32_t id,
			 const struct stored *st)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%08X.chunk", s->frame, id);
	f = fopen(path, "wb");
	cr_assert_not_null(f);
	cr_assert_eq(fwrite(st->bytes, 1, st->size, f), st->size);
	fclose(f);
}

/* The position of block @i in the chunk file. */
static uint32_t block_start(const struct stored *st, uint32_t i)
{
	return b2f_load_le32(st->bytes + 32 + 4 * (size_t)i);
}

/* The id of chunk @n in the index on disk. */
static uint32_t id_of(const struct scratch *s, uint64_t n)
{
	struct b2f_frame *frame = frame_at(AT_FDCWD, s->frame);
	uint32_t id = (uint32_t)b2f_entries_raw(&frame->entries, n);

	b2f_frame_close(frame);
	return id;
}

static void expect(struct scratch *s, const uint8_t *want, size_t n)
{
	OWN(free) uint8_t *got = exact_new(n, 0xee);

	cr_assert_eq(b2f_file_size(s->file), n);
	cr_assert_eq(b2f_file_pread(s->file, NULL, got, n, 0), (ssize_t)n);
	cr_assert_eq(memcmp(got, want, n), 0);
}

Test(file_encode, blocks_that_were_not_written_to_are_copied)
{
	OWN(free) uint8_t *data = items(8, CHUNKSIZE);
	struct stored before, now;
	OWN_SCRATCH struct scratch s = begin(8);

	put(&s, data, CHUNKSIZE, 0);
	cr_assert_eq(commit(&s), 0);
	before = read_stored(&s, id_of(&s, 0));
	memset(data + 3 * BLOCKSIZE + 77, 0, 9);
	put(&s, data + 3 * BLOCKSIZE + 77, 9, 3 * BLOCKSIZE + 77);
	cr_assert_eq(commit(&s), 0);
	expect(&s, data, CHUNKSIZE);
	now = read_stored(&s, id_of(&s, 0));
	for (uint32_t i = 0; i < CHUNKSIZE / BLOCKSIZE - 1; i++) {
		uint32_t a = block_start(&before, i), b = block_start(&now, i);
		uint32_t n = block_start(&before, i + 1) - a;

		cr_assert(i == 3 ||
			  !memcmp(before.bytes + a, now.bytes + b, n));
	}
	cr_assert_eq(memcmp(now.bytes + now.size - 4, "B2S2", 4), 0);
	reopen(&s);
	expect(&s, data, CHUNKSIZE);
	free(before.bytes);
	free(now.bytes);
}

Test(file_encode, what_was_cut_off_in_between_is_zeros)
{
	OWN(free) uint8_t *data = items(8, CHUNKSIZE);
	OWN_SCRATCH struct scratch s = begin(8);

	put(&s, data, CHUNKSIZE, 0);
	cr_assert_eq(commit(&s), 0);
	/* The chunk has its old length, but only its beginning is kept. */
	cr_assert_eq(b2f_file_truncate(s.file, 3 * BLOCKSIZE + 5001), 0);
	cr_assert_eq(b2f_file_truncate(s.file, CHUNKSIZE), 0);
	memset(data + 3 * BLOCKSIZE + 5001, 0,
	       CHUNKSIZE - 3 * BLOCKSIZE - 5001);
	put(&s, "xyz", 3, 9 * BLOCKSIZE - 1);
	memcpy(data + 9 * BLOCKSIZE - 1, "xyz", 3);
	cr_assert_eq(commit(&s), 0);
	expect(&s, data, CHUNKSIZE);
	reopen(&s);
	expect(&s, data, CHUNKSIZE);
}

Test(file_encode, random_changes_of_chunks_of_many_blocks)
{
	size_t size = 3 * CHUNKSIZE - 12345;
	OWN(free) uint8_t *data = items(8, size);
	uint64_t seed = 1;
	OWN_SCRATCH struct scratch s = begin(8);

	put(&s, data, size, 0);
	for (int i = 0; i < 60; i++) {
		for (uint32_t k = exact_random(&seed) % 12; k > 0; k--) {
			uint32_t off = exact_random(&seed) % (uint32_t)size;
			uint32_t n =
				exact_random(&seed) % (i % 3 ? 300 : 99999);

			n = n < size - off ? n : (uint32_t)size - off;
			memset(data + off, (int)(k * exact_random(&seed)), n);
			put(&s, data + off, n, off);
		}
		cr_assert_eq(commit(&s), 0);
		if (i % 10 == 0)
			reopen(&s);
		expect(&s, data, size);
	}
}

/* Damages block 7 of chunk 0. */
static void damage(struct scratch *s)
{
	uint32_t id = id_of(s, 0);
	struct stored st = read_stored(s, id);

	b2f_store_le32(st.bytes + block_start(&st, 7), BLOCKSIZE + 1);
	write_stored(s, id, &st);
	free(st.bytes);
}

Test(file_encode, damage_is_not_copied_but_may_be_replaced)
{
	OWN(free) uint8_t *data = items(8, CHUNKSIZE);

	for (int sealed = 0; sealed < 2; sealed++) {
		OWN_SCRATCH struct scratch s = begin(8);

		s.options.no_seal = !sealed;
		reopen(&s);
		put(&s, data, CHUNKSIZE, 0);
		cr_assert_eq(commit(&s), 0);
		damage(&s);
		reopen(&s);
		put(&s, "x", 1, 5);
		cr_assert_eq(commit(&s), B2F_ECORRUPT);
		put(&s, data, 1, 5);
		put(&s, data + 7 * BLOCKSIZE, BLOCKSIZE, 7 * BLOCKSIZE);
		data[5] = data[0];
		cr_assert_eq(commit(&s), 0);
		expect(&s, data, CHUNKSIZE);
	}
}

Test(file_encode, a_write_that_damage_refuses_hinders_no_commit)
{
	const size_t size = 2 * CHUNKSIZE + 5 * BLOCKSIZE + 99;
	uint8_t *data = items(8, size), got[4];
	struct stored st;
	OWN_SCRATCH struct scratch s = begin(8);
	uint32_t id;

	put(&s, data, size, 0);
	cr_assert_eq(commit(&s), 0);
	damage(&s);
	/* The end of the last chunk, too. */
	id = id_of(&s, 2);
	st = read_stored(&s, id);
	b2f_store_le32(st.bytes + block_start(&st, 5), BLOCKSIZE + 1);
	write_stored(&s, id, &st);
	free(st.bytes);
	reopen(&s);
	cr_assert_eq(b2f_file_pwrite(s.file, "x", 1, 7 * BLOCKSIZE + 5),
		     B2F_ECORRUPT);
	cr_assert_eq(b2f_file_pwrite(s.file, "x", 1, size), B2F_ECORRUPT);
	cr_assert_eq(b2f_file_size(s.file), size);
	put(&s, "good", 4, CHUNKSIZE);
	cr_assert_eq(commit(&s), 0);
	reopen(&s);
	cr_assert_eq(b2f_file_pread(s.file, NULL, got, 4, CHUNKSIZE), 4);
	cr_assert_eq(memcmp(got, "good", 4), 0);
	free(data);
}

static uint32_t typesize_of(const struct scratch *s)
{
	struct b2f_frame *frame = frame_at(AT_FDCWD, s->frame);
	uint32_t typesize = b2f_settings_of(frame).typesize;

	b2f_frame_close(frame);
	return typesize;
}

static void expect_typesize(struct scratch *s, uint32_t want)
{
	uint32_t got;

	cr_assert_eq(commit(s), 0);
	got = typesize_of(s);
	cr_assert_eq(got, want, "%u, not %u", got, want);
}

/* Chunks with items of 2, 4, 8 and 16 bytes: the first chunk counts. */
Test(file_encode, the_first_chunk_tells_the_item_size_however_many_there_are)
{
	OWN(free) uint8_t *data = exact_new(5 * CHUNKSIZE, 0);

	for (uint32_t i = 0; i < 5; i++) {
		uint8_t *chunk = items(i ? 1u << i : 8, CHUNKSIZE);

		memcpy(data + i * (size_t)CHUNKSIZE, chunk, CHUNKSIZE);
		free(chunk);
	}
	for (int i = 0; i < 20; i++) {
		OWN_SCRATCH struct scratch s = begin(1);

		put(&s, data, 5 * CHUNKSIZE - 3, 0);
		expect_typesize(&s, 8);
		expect(&s, data, 5 * CHUNKSIZE - 3);
	}
}

Test(file_encode, a_first_chunk_that_is_not_complete_tells_the_item_size)
{
	OWN(free) uint8_t *first = items(8, CHUNKSIZE);
	OWN(free) uint8_t *second = items(4, CHUNKSIZE);
	OWN_SCRATCH struct scratch s = begin(1);

	put(&s, first, CHUNKSIZE / 2, 0);
	/* This chunk is complete, and encoded at once. */
	put(&s, second, CHUNKSIZE, CHUNKSIZE);
	put(&s, first + CHUNKSIZE / 2, CHUNKSIZE / 2, CHUNKSIZE / 2);
	expect_typesize(&s, 8);
}

Test(file_encode, without_a_first_chunk_the_lowest_tells_the_item_size)
{
	OWN(free) uint8_t *first = items(2, 100000);
	OWN(free) uint8_t *second = items(4, CHUNKSIZE);
	OWN_SCRATCH struct scratch s = begin(1);

	put(&s, first, 100000, 3 * CHUNKSIZE + 5000);
	put(&s, second, CHUNKSIZE, 5 * CHUNKSIZE);
	expect_typesize(&s, 2);
}

Test(file_encode, zeros_do_not_tell_the_item_size)
{
	OWN(free) uint8_t *zeros = exact_new(CHUNKSIZE, 0);
	OWN(free) uint8_t *data = items(4, CHUNKSIZE);
	OWN_SCRATCH struct scratch s = begin(1);

	put(&s, zeros, CHUNKSIZE, 0);
	expect_typesize(&s, 1);
	put(&s, data, CHUNKSIZE, CHUNKSIZE);
	expect_typesize(&s, 4);
}

/* An index cannot describe a part of an item, so the last chunk gets a file. */
Test(file_encode, a_hole_at_the_end_may_be_a_part_of_an_item)
{
	size_t size = 3 * CHUNKSIZE + 100001;
	OWN(free) uint8_t *data = exact_new(size, 0);
	OWN(free) uint8_t *first = items(8, CHUNKSIZE);

	for (uint32_t i = 0; i < 20; i++) {
		OWN_SCRATCH struct scratch s = begin(1);
		/* Complete: encoded before the commit, or in it. */
		uint32_t n = CHUNKSIZE - i % 2;

		memcpy(data, first, n);
		data[CHUNKSIZE - 1] = n == CHUNKSIZE ? first[n - 1] : 0;
		cr_assert_eq(b2f_file_truncate(s.file, size), 0);
		put(&s, data, n, 0);
		usleep(i % 5 * 1000);
		cr_assert_eq(commit(&s), 0);
		reopen(&s);
		expect(&s, data, size);
	}
}

/* The header tells the item size where the data do not. */
Test(file_encode, the_header_of_npy_tells_the_item_size)
{
	static const struct {
		const char *dtype;
		uint32_t itemsize;
		uint32_t typesize;
	} cases[] = {
		{"<f4", 4, 4},
		{"<c16", 16, 16},
		{"|S32", 32, 32},
		{"<U3", 12, 4}, /* A chunk has no whole number of 12. */
	};
	uint8_t *data;
	char text[100];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		OWN_SCRATCH struct scratch s = begin(1);

		data = exact_noise(CHUNKSIZE, i);
		/* Magic, version, length of the text. */
		memset(data, ' ', 128);
		memcpy(data, "\x93NUMPY\x01\x00\x76\x00", 10);
		snprintf(text, sizeof(text),
			 "{'descr': '%s', 'fortran_order': True, "
			 "'shape': (99, 7), }",
			 cases[i].dtype);
		memcpy(data + 10, text, strlen(text));
		data[127] = '\n';
		put(&s, data, CHUNKSIZE, 0);
		expect_typesize(&s, cases[i].typesize);
		free(data);
	}
}

static uint64_t dirty_bytes(const struct scratch *s)
{
	struct b2f_runtime_stats stats;

	b2f_runtime_stats_get(s->rt, &stats);
	return stats.dirty_bytes;
}

/*
 * The buffer of such a chunk is a part of a huge page: old bytes there must not
 * show, and scattered writes must not take so much memory.
 */
Test(file_encode, only_a_chunk_that_begins_with_much_counts_as_a_whole)
{
	OWN(free) uint8_t *data = items(8, 3 * CHUNKSIZE);
	OWN(free) uint8_t *got = malloc(3 * CHUNKSIZE);
	OWN_SCRATCH struct scratch s = begin(8);

	put(&s, data, 3 * CHUNKSIZE, 0);
	cr_assert_eq(commit(&s), 0);
	cr_assert_eq(dirty_bytes(&s), 0);
	memset(data + CHUNKSIZE, 1, 65535);
	put(&s, data + CHUNKSIZE, 65535, CHUNKSIZE);
	cr_assert_eq(dirty_bytes(&s), 65536);
	memset(data + 2 * CHUNKSIZE - 65436, 2, 65536);
	put(&s, data + 2 * CHUNKSIZE - 65436, 65536, 2 * CHUNKSIZE - 65436);
	cr_assert_eq(dirty_bytes(&s), 2 * 65536 + CHUNKSIZE);
	put(&s, data, 5, 3 * CHUNKSIZE - 70001);
	memcpy(data + 3 * CHUNKSIZE - 70001, data, 5);
	cr_assert_eq(dirty_bytes(&s), 2 * 65536 + CHUNKSIZE);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(b2f_file_pread(s.file, NULL, got, 3 * CHUNKSIZE,
					    0),
			     3 * CHUNKSIZE);
		cr_assert_arr_eq(got, data, 3 * CHUNKSIZE);
		cr_assert_eq(commit(&s), 0);
		cr_assert_eq(dirty_bytes(&s), 0);
	}
}

/* Bytes of the chunk file of @n bytes of text. */
static size_t stored_size(unsigned int clevel, bool adapt, size_t n)
{
	OWN_SCRATCH struct scratch s = begin_with(1, clevel);
	uint8_t *text = exact_new(n, 0);
	struct stored st;

	/* Words of five letters, out of a thousand. */
	for (uint32_t i = 0, x = 1; i < n; i++) {
		if (i % 6 == 0)
			x = x * 1664525 + 1013904223;
		text[i] = i % 6 ? (uint8_t)('a' + (x >> 22) * 7919 * (i % 6) % 26)
				: ' ';
	}
	s.options.adapt_clevel = adapt;
	reopen(&s);
	put(&s, text, n, 0);
	cr_assert_eq(commit(&s), 0);
	expect(&s, text, n);
	st = read_stored(&s, id_of(&s, 0));
	free(st.bytes);
	free(text);
	return st.size;
}

Test(file_encode, a_short_chunk_is_encoded_at_level_1)
{
	size_t size = B2F_ENCODE_SHORT;

	cr_assert_lt(stored_size(3, false, size), stored_size(1, false, size));
	cr_assert_eq(stored_size(3, true, size), stored_size(1, false, size));
	cr_assert_eq(stored_size(3, true, size + 1),
		     stored_size(3, false, size + 1));
	/* A level that somebody has asked for stays. */
	cr_assert_eq(stored_size(5, true, size), stored_size(5, false, size));
}
