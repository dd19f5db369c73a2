/* SPDX-License-Identifier: BSD-3-Clause */
/* test_file.c - frames as plain files: ranges, views, holes, many threads */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/b2frame.h"

#define GOLDEN B2F_SOURCE_DIR "/tests/data/golden/"

struct opened {
	struct b2f_runtime *rt;
	struct b2f_file *file;
	/* The whole file, read at once. */
	uint8_t *data;
	size_t size;
};

static struct b2f_frame *open_frame(const char *name)
{
	const struct b2f_frame_options options = {.offset = 0};
	struct b2f_frame *frame = NULL;
	char path[1024];

	snprintf(path, sizeof(path), GOLDEN "%s", name);
	cr_assert_eq(b2f_frame_open(&options, AT_FDCWD, path, &frame), 0, "%s",
		     path);
	return frame;
}

static struct opened open_golden(const char *name, size_t cache_bytes)
{
	const struct b2f_runtime_options options = {
		.cache_bytes = cache_bytes,
		.nworkers = 2,
		.readahead_bytes = 64 << 10,
	};
	struct opened o = {0};

	cr_assert_eq(b2f_runtime_new(&options, &o.rt), 0);
	cr_assert_eq(b2f_file_open(o.rt, open_frame(name), &o.file), 0);
	o.size = b2f_file_size(o.file);
	o.data = malloc(o.size + 1);
	cr_assert_eq(b2f_file_pread(o.file, NULL, o.data, o.size, 0),
		     (ssize_t)o.size);
	return o;
}

static void close_golden(struct opened *o)
{
	b2f_file_close(o->file);
	b2f_runtime_free(o->rt);
	free(o->data);
}

Test(file, reads_end_at_the_end)
{
	struct opened o = open_golden("sframes/edited.b2frame", 1 << 20);
	uint8_t buf[64];

	cr_assert_eq(b2f_file_pread(o.file, NULL, buf, 64, o.size - 10), 10);
	cr_assert_arr_eq(buf, o.data + o.size - 10, 10);
	cr_assert_eq(b2f_file_pread(o.file, NULL, buf, 64, o.size), 0);
	cr_assert_eq(b2f_file_pread(o.file, NULL, buf, 64, UINT64_MAX), 0);
	cr_assert_eq(b2f_file_pread(o.file, NULL, buf, 0, 0), 0);
	close_golden(&o);
}

static void compare_view(struct opened *o, size_t off, size_t n)
{
	struct b2f_view view = {0};
	size_t at = off;

	cr_assert_eq(b2f_file_view(o->file, NULL, n, off, &view), (ssize_t)n);
	cr_assert_eq(view.nbytes, n);
	for (size_t i = 0; i < view.niov; i++) {
		cr_assert_eq(memcmp(view.iov[i].iov_base, o->data + at,
				    view.iov[i].iov_len),
			     0);
		at += view.iov[i].iov_len;
	}
	cr_assert_eq(at, off + n);
	b2f_file_view_release(&view);
	b2f_file_view_release(&view);
}

Test(file, a_view_points_to_the_same_bytes)
{
	struct opened o = open_golden("cframes/specials.b2frame", 1 << 20);

	compare_view(&o, 0, o.size);
	compare_view(&o, 3999, 2);
	compare_view(&o, 1234, 13000);
	close_golden(&o);
}

Test(file, a_view_of_very_many_pieces_is_right_too)
{
	/* 3,000 chunks of 40 bytes: far more pieces than a view holds. */
	struct opened o = open_golden("cframes/many.b2frame", 1 << 20);

	compare_view(&o, 0, o.size);
	compare_view(&o, 39, 100000);
	close_golden(&o);
}

Test(file, a_cache_smaller_than_one_block_still_reads)
{
	struct opened o = open_golden("sframes/dict.b2frame", 512);
	uint8_t *again = malloc(o.size);

	cr_assert_eq(b2f_file_pread(o.file, NULL, again, o.size, 0),
		     (ssize_t)o.size);
	cr_assert_eq(memcmp(again, o.data, o.size), 0);
	free(again);
	close_golden(&o);
}

Test(file, only_zeros_of_the_index_are_holes)
{
	/* data, zeros, NaN, value, zeros, const, short zeros (4,000 each) */
	struct opened o = open_golden("sframes/specials.b2frame", 1 << 20);

	cr_assert_eq(o.size, 24800);
	cr_assert_eq(b2f_file_seek_data(o.file, 0), 0);
	cr_assert_eq(b2f_file_seek_hole(o.file, 0), 4000);
	cr_assert_eq(b2f_file_seek_hole(o.file, 5000), 5000);
	cr_assert_eq(b2f_file_seek_data(o.file, 4000), 8000, "NaNs are data");
	cr_assert_eq(b2f_file_seek_hole(o.file, 8000), 16000);
	cr_assert_eq(b2f_file_seek_data(o.file, 16001), 20000);
	cr_assert_eq(b2f_file_seek_hole(o.file, 20000), 24000);
	cr_assert_eq(b2f_file_seek_data(o.file, 24000), -ENXIO);
	cr_assert_eq(b2f_file_seek_hole(o.file, 24800), -ENXIO);
	cr_assert_eq(b2f_file_seek_data(o.file, UINT64_MAX), -ENXIO);
	close_golden(&o);
}

Test(file, uninitialised_chunks_are_no_holes)
{
	struct opened o = open_golden("sframes/uninit.b2frame", 1 << 20);

	cr_assert_eq(b2f_file_seek_data(o.file, 0), 0);
	cr_assert_eq(b2f_file_seek_hole(o.file, 0), (int64_t)o.size);
	close_golden(&o);
}

Test(file, a_file_without_holes_has_one_at_its_end)
{
	struct opened o = open_golden("sframes/codec1.b2frame", 1 << 20);

	cr_assert_eq(b2f_file_seek_hole(o.file, 0), (int64_t)o.size);
	cr_assert_eq(b2f_file_seek_data(o.file, o.size - 1),
		     (int64_t)o.size - 1);
	close_golden(&o);
}

Test(file, an_empty_frame_is_an_empty_file)
{
	struct opened o = open_golden("sframes/empty.b2frame", 1 << 20);
	struct b2f_view view = {0};

	cr_assert_eq(o.size, 0);
	cr_assert_eq(b2f_file_view(o.file, NULL, 10, 0, &view), 0);
	b2f_file_view_release(&view);
	cr_assert_eq(b2f_file_seek_data(o.file, 0), -ENXIO);
	close_golden(&o);
}

/* Reads the file sequentially, with a stream of its own. */
static void *read_in_order(void *arg)
{
	struct opened *o = arg;
	struct b2f_stream *stream = NULL;
	uint8_t buf[700];
	intptr_t bad = b2f_stream_new(o->file, &stream);
	size_t at = 0;

	while (!bad && at < o->size) {
		ssize_t n =
			b2f_file_pread(o->file, stream, buf, sizeof(buf), at);

		bad = n <= 0 || memcmp(buf, o->data + at, (size_t)n) != 0;
		at += n > 0 ? (size_t)n : 0;
	}
	b2f_stream_free(stream);
	return (void *)bad;
}

Test(file, many_readers_in_order_get_the_same_bytes)
{
	/* The cache cannot hold the file, so blocks come and go. */
	struct opened o = open_golden("cframes/many.b2frame", 20000);
	pthread_t threads[16];
	void *bad;

	for (int i = 0; i < 16; i++)
		cr_assert_eq(
			pthread_create(&threads[i], NULL, read_in_order, &o),
			0);
	for (int i = 0; i < 16; i++) {
		pthread_join(threads[i], &bad);
		cr_assert_null(bad);
	}
	close_golden(&o);
}

Test(file, closing_while_chunks_are_decoded_ahead_is_safe)
{
	for (int i = 0; i < 50; i++) {
		struct opened o =
			open_golden("cframes/codec5.b2frame", 1 << 20);
		struct b2f_stream *stream = NULL;
		uint8_t buf[256];

		cr_assert_eq(b2f_stream_new(o.file, &stream), 0);
		for (uint64_t at = 0; at < 1024; at += sizeof(buf))
			cr_assert_eq(b2f_file_pread(o.file, stream, buf,
						    sizeof(buf), at),
				     (ssize_t)sizeof(buf));
		b2f_stream_free(stream);
		close_golden(&o);
	}
}

Test(file, check_counts_what_is_damaged)
{
	const struct b2f_runtime_options options = {.nworkers = 2};
	const struct b2f_check_options check = {.arg = NULL};
	struct b2f_frame *frame = open_frame("sframes/specials.b2frame");
	struct b2f_check_result result;
	struct b2f_runtime *rt = NULL;

	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	cr_assert_eq(b2f_check_frame(rt, frame, &check, &result), 0);
	cr_assert_eq(result.nchunks, 7);
	cr_assert_eq(result.nspecial, 4);
	cr_assert_eq(result.ndamaged, 0);
	cr_assert_eq(result.nbytes, 24800);
	b2f_frame_close(frame);
	b2f_runtime_free(rt);
}
