/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_file_streams.c - sequential readers, and the blocks that stay in memory
 */
#include "tests/support/frame_dir.h"

#include <string.h>

#define NCHUNKS	  128
#define CHUNKSIZE (32u << 10)
#define BLOCKSIZE (8u << 10)
#define SIZE	  ((size_t)NCHUNKS * CHUNKSIZE)
#define NBLOCKS	  (SIZE / BLOCKSIZE)

/* A cache for the whole frame: a sixteenth of it is 32 blocks. */
static const struct b2f_runtime_options options = {
	.cache_bytes = SIZE + (1u << 20), .nworkers = 2};

static struct frame_dir dir;
static struct b2f_runtime *rt;
static struct b2f_file *file;
static uint8_t chunk[CHUNKSIZE];

static void setup(void)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < CHUNKSIZE; i++) {
		seed = seed * 1103515245 + 12345;
		chunk[i] = (uint8_t)(seed >> 24 & 0x3f);
	}
	dir = frame_dir_new();
	for (uint32_t i = 0; i < NCHUNKS; i++)
		frame_dir_chunk(&dir, i, chunk, CHUNKSIZE, BLOCKSIZE);
	frame_dir_index(&dir, NCHUNKS, SIZE, CHUNKSIZE);
	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	file = frame_dir_open(&dir, rt);
}

static void teardown(void)
{
	b2f_file_close(file);
	b2f_runtime_free(rt);
	frame_dir_remove(&dir);
}

TestSuite(file_streams, .init = setup, .fini = teardown, .timeout = 120);

static struct b2f_stream *new_stream(void)
{
	struct b2f_stream *stream = NULL;

	cr_assert_eq(b2f_stream_new(file, &stream), 0);
	return stream;
}

/* One request of half a block, as the kernel makes them. */
static void read_at(struct b2f_stream *stream, size_t off)
{
	struct b2f_view view;
	size_t done = 0;

	cr_assert_eq(b2f_file_view(file, stream, BLOCKSIZE / 2, off, &view),
		     BLOCKSIZE / 2);
	for (size_t i = 0; i < view.niov; i++) {
		cr_assert_arr_eq(view.iov[i].iov_base,
				 chunk + (off + done) % CHUNKSIZE,
				 view.iov[i].iov_len);
		done += view.iov[i].iov_len;
	}
	b2f_file_view_release(&view);
}

static struct b2f_runtime_stats stats(void)
{
	struct b2f_runtime_stats now;

	b2f_runtime_stats_get(rt, &now);
	return now;
}

Test(file_streams, long_read_leaves_few_blocks_in_memory)
{
	struct b2f_stream *stream = new_stream();

	for (size_t off = 0; off < SIZE; off += BLOCKSIZE / 2)
		read_at(stream, off);
	/* A sixteenth of the cache, and blocks decoded ahead. */
	cr_assert_leq(stats().cached_blocks, NBLOCKS / 2);
	cr_assert_lt(stats().misses, NBLOCKS + NBLOCKS / 8);
	b2f_stream_free(stream);
}

Test(file_streams, second_reader_behind_the_first_finds_its_blocks)
{
	struct b2f_stream *first = new_stream(), *second = new_stream();
	/* A fifth of the cache. */
	const size_t lag = options.cache_bytes / 5 / BLOCKSIZE * BLOCKSIZE;

	for (size_t off = 0; off < SIZE + lag; off += BLOCKSIZE / 2) {
		if (off < SIZE)
			read_at(first, off);
		if (off >= lag)
			read_at(second, off - lag);
	}
	cr_assert_leq(stats().misses, NBLOCKS + 16);
	/* Behind the second reader the blocks are passed. */
	cr_assert_leq(stats().cached_blocks, NBLOCKS * 3 / 4);
	b2f_stream_free(second);
	b2f_stream_free(first);
}

Test(file_streams, blocks_of_random_reads_stay)
{
	struct b2f_stream *stream = new_stream();

	for (size_t i = 0; i < NBLOCKS; i++)
		read_at(NULL, i * 37 % NBLOCKS * BLOCKSIZE + BLOCKSIZE / 2);
	for (size_t off = 0; off < SIZE; off += BLOCKSIZE / 2)
		read_at(stream, off);
	cr_assert_eq(stats().misses, NBLOCKS);
	cr_assert_eq(stats().cached_blocks, NBLOCKS);
	b2f_stream_free(stream);
}

Test(file_streams, small_part_that_is_read_again_is_read_from_memory)
{
	struct b2f_stream *stream = new_stream();
	uint64_t hits;

	for (size_t off = 0; off < 16 * BLOCKSIZE; off += BLOCKSIZE / 2)
		read_at(stream, off);
	b2f_stream_free(stream);
	hits = stats().hits;
	for (size_t off = 0; off < 16 * BLOCKSIZE; off += BLOCKSIZE / 2)
		read_at(NULL, off);
	cr_assert_eq(stats().hits, hits + 32);
}
