/* SPDX-License-Identifier: BSD-3-Clause */
/* test_editor.c - a sparse frame as an editable row of chunks */
#include <criterion/criterion.h>

#include "frame/frame.h"
#include "tests/support/editor_scene.h"

TestSuite(editor, .init = editor_scene_begin, .fini = editor_scene_end);

static void commit(void)
{
	cr_assert_eq(b2f_editor_commit(editor), 0);
}

/*
 * Checks that the index on disk has the @n places @places; -1 is a special
 * chunk.  After a commit, the next 16 ids are left to other programs.
 */
static void expect_places(const int *places, uint64_t n)
{
	struct b2f_frame *frame = frame_at(dirfd_, "f");

	cr_assert_eq(b2f_frame_info_get(frame)->nchunks, n);
	for (uint64_t i = 0; i < n; i++) {
		struct b2f_chunk_info info;

		cr_assert_eq(b2f_frame_chunk_info(frame, i, &info), 0);
		if (places[i] < 0)
			cr_expect(info.in_index, "chunk %d", (int)i);
		else
			cr_expect_eq(info.place, (uint64_t)places[i],
				     "chunk %d is in %d, not %d", (int)i,
				     (int)info.place, places[i]);
	}
	b2f_frame_close(frame);
}

#define EXPECT_PLACES(...)                                                     \
	expect_places((const int[]){__VA_ARGS__},                              \
		      sizeof((int[]){__VA_ARGS__}) / sizeof(int))

/*
 * Checks that the data on disk are the chunks @which, of CHUNK bytes each, the
 * last one of @last bytes; -1 is zeros.
 */
static void expect_data(const int *which, uint64_t n, uint32_t last)
{
	const struct b2f_runtime_options one = {.nworkers = 1};
	struct b2f_runtime *rt = NULL;
	struct b2f_file *file = NULL;
	uint8_t buf[CHUNK];

	cr_assert_eq(b2f_runtime_new(&one, &rt), 0);
	cr_assert_eq(b2f_file_open(rt, frame_at(dirfd_, "f"), &file), 0);
	cr_assert_eq(b2f_file_size(file), n ? (n - 1) * CHUNK + last : 0);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t nbytes = i + 1 < n ? CHUNK : last;
		static const uint8_t zeros[CHUNK];

		cr_assert_eq(b2f_file_pread(file, NULL, buf, nbytes, i * CHUNK),
			     (ssize_t)nbytes);
		cr_expect_eq(memcmp(buf,
				    which[i] < 0 ? zeros
						 : bytes_of(which[i], nbytes),
				    nbytes),
			     0, "chunk %d", (int)i);
	}
	b2f_file_close(file);
	b2f_runtime_free(rt);
}

#define EXPECT_DATA(last, ...)                                                 \
	expect_data((const int[]){__VA_ARGS__},                                \
		    sizeof((int[]){__VA_ARGS__}) / sizeof(int), last)

Test(editor, an_empty_frame_learns_its_chunk_size_from_the_first_chunk)
{
	cr_assert_eq(b2f_editor_nchunks(editor), 0);
	cr_assert_eq(b2f_editor_chunksize(editor), -1);
	append(1, CHUNK);
	cr_assert_eq(b2f_editor_chunksize(editor), (int32_t)CHUNK);
	append(2, CHUNK);
	append(3, 33);
	cr_assert_eq(b2f_editor_nchunks(editor), 3);
	cr_assert_eq(b2f_editor_nbytes(editor), 2 * CHUNK + 33);
	commit();
	EXPECT_PLACES(0, 1, 2);
	EXPECT_DATA(33, 1, 2, 3);
}

Test(editor, a_chunk_that_is_refused_sets_no_chunk_size)
{
	struct b2f_settings settings = b2f_settings_default();

	close_editor();
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
	settings.typesize = 8;
	cr_assert_eq(b2f_frame_create(&settings, dirfd_, "f", 0644, true, NULL),
		     0);
	open_editor_as(false);
	cr_assert_eq(b2f_editor_append_special(editor, B2F_CHUNK_NAN, 12),
		     -EINVAL);
	cr_assert_eq(b2f_editor_chunksize(editor), -1);
	append(1, CHUNK);
	commit();
	EXPECT_DATA(CHUNK, 1);
}

Test(editor, insertion_gives_the_next_number)
{
	append_four();
	EXPECT_PLACES(0, 1, 2, 3);
	cr_assert_eq(b2f_editor_insert(editor, 2, bytes_of(99, CHUNK), CHUNK),
		     0);
	EXPECT_PLACES(0, 1, 2, 3);
	commit();
	EXPECT_PLACES(0, 1, 20, 2, 3);
	EXPECT_DATA(CHUNK, 0, 10, 99, 20, 30);
	cr_assert_eq(b2f_editor_insert(editor, 0, bytes_of(77, CHUNK), CHUNK),
		     0);
	commit();
	EXPECT_PLACES(37, 0, 1, 20, 2, 3);
	EXPECT_DATA(CHUNK, 77, 0, 10, 99, 20, 30);
}

Test(editor, reorder_touches_the_index_alone)
{
	static const uint64_t order[] = {3, 1, 0, 2};

	append_four();
	cr_assert_eq(b2f_editor_reorder(editor, order), 0);
	commit();
	EXPECT_PLACES(3, 1, 0, 2);
	EXPECT_DATA(CHUNK, 30, 10, 0, 20);
}

Test(editor, an_order_has_each_chunk_once_and_the_short_one_last)
{
	static const uint64_t twice[] = {0, 1, 1, 3}, beyond[] = {0, 1, 2, 4};
	static const uint64_t moved[] = {4, 1, 2, 3, 0},
			      kept[] = {3, 2, 1, 0, 4};

	append_four();
	cr_assert_eq(b2f_editor_reorder(editor, twice), -EINVAL);
	cr_assert_eq(b2f_editor_reorder(editor, beyond), -EINVAL);
	append(40, 5);
	cr_assert_eq(b2f_editor_reorder(editor, moved), -EINVAL);
	cr_assert_eq(b2f_editor_reorder(editor, kept), 0);
	commit();
	EXPECT_DATA(5, 30, 20, 10, 0, 40);
}

Test(editor, an_update_never_writes_to_the_old_file)
{
	append_four();
	cr_assert_eq(b2f_editor_update(editor, 1, bytes_of(55, CHUNK), CHUNK),
		     0);
	EXPECT_DATA(CHUNK, 0, 10, 20, 30);
	commit();
	EXPECT_PLACES(0, 20, 2, 3);
	EXPECT_DATA(CHUNK, 0, 55, 20, 30);
	/* The last chunk may have another length. */
	cr_assert_eq(b2f_editor_update(editor, 3, bytes_of(66, 12), 12), 0);
	commit();
	EXPECT_DATA(12, 0, 55, 20, 66);
	cr_assert_eq(b2f_editor_update(editor, 3, bytes_of(67, CHUNK), CHUNK),
		     0);
	commit();
	EXPECT_DATA(CHUNK, 0, 55, 20, 67);
}

Test(editor, deletion_keeps_the_numbers_of_the_others)
{
	append_four();
	append(40, 9);
	cr_assert_eq(b2f_editor_delete(editor, 1), 0);
	commit();
	EXPECT_PLACES(0, 2, 3, 20);
	EXPECT_DATA(9, 0, 20, 30, 40);
	cr_assert_eq(b2f_editor_delete(editor, 3), 0);
	cr_assert_eq(b2f_editor_delete(editor, 0), 0);
	commit();
	EXPECT_DATA(CHUNK, 20, 30);
	cr_assert_eq(b2f_editor_delete(editor, 0), 0);
	cr_assert_eq(b2f_editor_delete(editor, 0), 0);
	commit();
	cr_assert_eq(b2f_editor_nbytes(editor), 0);
	expect_data(NULL, 0, 0);
	append(70, CHUNK);
	commit();
	EXPECT_DATA(CHUNK, 70);
}

Test(editor, resize_cuts_and_extends)
{
	append_four();
	cr_assert_eq(b2f_editor_resize(editor, 2 * CHUNK + 50), 0);
	cr_assert_eq(b2f_editor_nchunks(editor), 3);
	commit();
	EXPECT_DATA(50, 0, 10, 20);
	cr_assert_eq(b2f_editor_resize(editor, 2 * CHUNK), 0);
	commit();
	EXPECT_DATA(CHUNK, 0, 10);
	/* Zeros behind whole chunks are entries. */
	cr_assert_eq(b2f_editor_resize(editor, 4 * CHUNK + 1), 0);
	commit();
	EXPECT_PLACES(0, 1, -1, -1, -1);
	EXPECT_DATA(1, 0, 10, -1, -1, -1);
	cr_assert_eq(b2f_editor_resize(editor, 0), 0);
	commit();
	expect_data(NULL, 0, 0);
}

static void damage(const char *chunk)
{
	int fd = openat(dirfd_, chunk, O_WRONLY);

	cr_assert_eq(pwrite(fd, "damage", 6, 0), 6);
	close(fd);
}

Test(editor, a_resize_that_fails_changes_nothing)
{
	append_four();
	append(40, 50);
	commit();
	damage("f/00000001.chunk");
	damage("f/00000014.chunk");
	cr_assert_lt(b2f_editor_resize(editor, CHUNK + 50), 0);
	cr_assert_lt(b2f_editor_resize(editor, 7 * CHUNK), 0);
	cr_assert_eq(b2f_editor_nchunks(editor), 5);
	cr_assert_eq(b2f_editor_nbytes(editor), 4 * CHUNK + 50);
	cr_assert_eq(b2f_editor_resize(editor, CHUNK), 0);
	commit();
	EXPECT_DATA(CHUNK, 0);
}

Test(editor, a_short_chunk_grows_with_zeros)
{
	uint8_t buf[CHUNK] = {0}, want[CHUNK] = {0};
	const struct b2f_runtime_options one = {.nworkers = 1};
	struct b2f_runtime *rt = NULL;
	struct b2f_file *file = NULL;

	append(1, CHUNK);
	append(2, 30);
	cr_assert_eq(b2f_editor_resize(editor, CHUNK + 70), 0);
	commit();
	memcpy(want, bytes_of(2, 30), 30);
	cr_assert_eq(b2f_runtime_new(&one, &rt), 0);
	cr_assert_eq(b2f_file_open(rt, frame_at(dirfd_, "f"), &file), 0);
	cr_assert_eq(b2f_file_pread(file, NULL, buf, CHUNK, CHUNK), 70);
	cr_assert_eq(memcmp(buf, want, CHUNK), 0);
	b2f_file_close(file);
	b2f_runtime_free(rt);
}

Test(editor, what_was_not_committed_is_undone)
{
	append_four();
	cr_assert_eq(b2f_editor_update(editor, 0, bytes_of(9, CHUNK), CHUNK),
		     0);
	cr_assert_eq(b2f_editor_delete(editor, 2), 0);
	append(50, CHUNK);
	close_editor();
	EXPECT_PLACES(0, 1, 2, 3);
	EXPECT_DATA(CHUNK, 0, 10, 20, 30);
	cr_assert_neq(faccessat(dirfd_, "f/00000004.chunk", F_OK, 0), 0);
}

Test(editor, lengths_that_would_not_fit_are_refused)
{
	append_four();
	cr_assert_eq(
		b2f_editor_append(editor, bytes_of(1, CHUNK + 1), CHUNK + 1),
		-EINVAL);
	cr_assert_eq(b2f_editor_append(editor, bytes_of(1, 1), 0), -EINVAL);
	cr_assert_eq(b2f_editor_insert(editor, 1, bytes_of(1, 5), 5), -EINVAL);
	cr_assert_eq(b2f_editor_insert(editor, 5, bytes_of(1, CHUNK), CHUNK),
		     -EINVAL);
	cr_assert_eq(b2f_editor_update(editor, 0, bytes_of(1, 5), 5), -EINVAL);
	cr_assert_eq(b2f_editor_update(editor, 4, bytes_of(1, CHUNK), CHUNK),
		     -EINVAL);
	cr_assert_eq(b2f_editor_delete(editor, 4), -EINVAL);
	append(1, 5);
	cr_assert_eq(b2f_editor_append(editor, bytes_of(1, 5), 5), -EINVAL);
	commit();
	EXPECT_DATA(5, 0, 10, 20, 30, 1);
}

Test(editor, special_chunks_are_entries)
{
	static const enum b2f_chunk_kind kinds[] = {B2F_CHUNK_ZEROS,
						    B2F_CHUNK_UNINIT};

	append(1, CHUNK);
	for (size_t i = 0; i < 2; i++)
		cr_assert_eq(b2f_editor_append_special(editor, kinds[i], CHUNK),
			     0);
	cr_assert_eq(b2f_editor_append_special(editor, B2F_CHUNK_VALUE, CHUNK),
		     -EINVAL);
	/* Items of one byte are no numbers. */
	cr_assert_eq(b2f_editor_append_special(editor, B2F_CHUNK_NAN, CHUNK),
		     -EINVAL);
	commit();
	EXPECT_PLACES(0, -1, -1);
	EXPECT_DATA(CHUNK, 1, -1, -1);
	/* Entries can be replaced by chunks, and moved. */
	cr_assert_eq(b2f_editor_update(editor, 1, bytes_of(2, CHUNK), CHUNK),
		     0);
	cr_assert_eq(b2f_editor_delete(editor, 0), 0);
	commit();
	EXPECT_DATA(CHUNK, 2, -1);
}

Test(editor, an_encoded_chunk_is_taken_as_it_is)
{
	const struct b2f_encode_options options = {
		.typesize = 1, .codec = B2F_CODEC_LZ4, .clevel = 9};
	uint8_t raw[2 * CHUNK];
	struct b2f_encoder *enc = NULL;
	struct b2f_encoded encoded;
	struct b2f_frame *frame;
	struct b2f_chunk_info info;

	cr_assert_eq(b2f_encoder_new(&enc), 0);
	cr_assert_eq(b2f_chunk_encode(enc, &options,
				      b2f_bytes_at(bytes_of(3, CHUNK), CHUNK),
				      b2f_room_at(raw, sizeof(raw)), &encoded,
				      NULL),
		     0);
	b2f_encoder_free(enc);
	append(1, CHUNK);
	cr_assert_eq(b2f_editor_append_encoded(editor, raw, encoded.cbytes), 0);
	cr_assert_eq(b2f_editor_append_encoded(editor, raw, 10), B2F_ECORRUPT);
	cr_assert_eq(b2f_editor_append_encoded(editor, raw, encoded.cbytes - 1),
		     B2F_ECORRUPT);
	commit();
	EXPECT_DATA(CHUNK, 1, 3);
	frame = frame_at(dirfd_, "f");
	cr_assert_eq(b2f_frame_chunk_info(frame, 1, &info), 0);
	cr_assert_eq(info.cbytes, encoded.cbytes);
	b2f_frame_close(frame);
}

/* Otherwise C-Blosc2 would not open the frame, or not read the chunk. */
Test(editor, an_encoded_chunk_without_data_becomes_an_entry)
{
	uint8_t raw[32] = {5, 1,     0x15, 1, CHUNK, 0,	 0,
			   0, CHUNK, 0,	   0, 0,     32, [31] = 1 << 4};

	cr_assert_eq(b2f_editor_append_encoded(editor, raw, 32), 0);
	commit();
	EXPECT_PLACES(-1);
	EXPECT_DATA(CHUNK, -1);
}

Test(editor, encoded_chunks_that_do_not_fit_the_frame_are_refused)
{
	uint8_t raw[132] = {5, 1, 0x17, 1, CHUNK, 0, 0, 0, CHUNK, 0, 0, 0, 132};

	cr_assert_eq(b2f_editor_append_encoded(editor, raw, 132), 0);
	raw[3] = 2;
	cr_assert_eq(b2f_editor_append_encoded(editor, raw, 132), -EINVAL);
	/* The header of Blosc 1. */
	raw[0] = 2;
	raw[2] = 0x12;
	raw[3] = 1;
	raw[12] = 116;
	cr_assert_eq(b2f_editor_append_encoded(editor, raw, 116), -EINVAL);
}

/* Do all stored chunks have checksums? */
static bool all_sealed(void)
{
	const struct b2f_runtime_options one = {.nworkers = 1};
	const struct b2f_check_options options = {.arg = NULL};
	struct b2f_check_result r = {0};
	struct b2f_runtime *rt = NULL;
	struct b2f_frame *frame = frame_at(dirfd_, "f");

	cr_assert_eq(b2f_runtime_new(&one, &rt), 0);
	cr_assert_eq(b2f_check_frame(rt, frame, &options, &r), 0);
	cr_assert_eq(r.ndamaged + r.nunsupported + r.nfailed, 0);
	b2f_frame_close(frame);
	b2f_runtime_free(rt);
	return r.index_sealed && r.nsealed + r.nspecial == r.nchunks;
}

Test(editor, seal_moves_a_chunk_to_a_new_file_with_checksums)
{
	const struct b2f_editor_options unsealed = {.no_seal = true};
	bool done = false;

	close_editor();
	cr_assert_eq(b2f_editor_open(&unsealed, dirfd_, "f", &editor), 0);
	append_four();
	cr_assert_eq(b2f_editor_append_special(editor, B2F_CHUNK_ZEROS, CHUNK),
		     0);
	commit();
	cr_assert_not(all_sealed());
	open_editor_as(true);
	for (uint64_t i = 0; i < 5; i++) {
		cr_assert_eq(b2f_editor_seal(editor, i, &done), 0);
		cr_assert_eq(done, i < 4);
		cr_assert_eq(b2f_editor_seal(editor, i, &done), 0);
		cr_assert_not(done);
	}
	cr_assert_eq(b2f_editor_seal(editor, 5, &done), -EINVAL);
	commit();
	cr_assert(all_sealed());
	EXPECT_PLACES(20, 21, 22, 23, -1);
	EXPECT_DATA(CHUNK, 0, 10, 20, 30, -1);
	close_editor();
	cr_assert_neq(faccessat(dirfd_, "f/00000000.chunk", F_OK, 0), 0);
}

Test(editor, zeros_take_the_place_of_a_chunk)
{
	append_four();
	append(40, 33);
	commit();
	open_editor_as(true);
	cr_assert_eq(b2f_editor_zero(editor, 1), 0);
	cr_assert_eq(b2f_editor_zero(editor, 4), 0);
	cr_assert_eq(b2f_editor_zero(editor, 5), -EINVAL);
	commit();
	EXPECT_PLACES(0, -1, 2, 3, -1);
	EXPECT_DATA(33, 0, -1, 20, 30, -1);
}

Test(editor, what_was_opened_for_sealing_keeps_its_data)
{
	static const uint64_t order[] = {0, 1, 2, 3};

	append_four();
	open_editor_as(true);
	cr_assert_eq(b2f_editor_append(editor, bytes_of(1, 1), 1), -EROFS);
	cr_assert_eq(b2f_editor_insert(editor, 0, bytes_of(1, 1), 1), -EROFS);
	cr_assert_eq(b2f_editor_update(editor, 0, bytes_of(1, 1), 1), -EROFS);
	cr_assert_eq(b2f_editor_delete(editor, 0), -EROFS);
	cr_assert_eq(b2f_editor_reorder(editor, order), -EROFS);
	cr_assert_eq(b2f_editor_resize(editor, 0), -EROFS);
	commit();
	EXPECT_DATA(CHUNK, 0, 10, 20, 30);
}
