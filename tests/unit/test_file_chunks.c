/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_file_chunks.c - chunks that other programs rewrite, and chunks of odd
 * sizes
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "tests/support/frame_dir.h"

/* Incompressible blocks: the read of a chunk's head contains none. */
#define BLOCK  16384u
#define NBYTES (8 * BLOCK)

static struct b2f_runtime *new_runtime(size_t cache_bytes)
{
	const struct b2f_runtime_options options = {
		.cache_bytes = cache_bytes,
		.nworkers = 2,
		.no_readahead = true,
	};
	struct b2f_runtime *rt = NULL;

	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	return rt;
}

/* Noise; every second block compresses a little, or all would be stored. */
static uint8_t *new_data(uint64_t seed)
{
	uint8_t *data = malloc(NBYTES);

	for (uint32_t i = 0; i < NBYTES; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963;
		data[i] = (uint8_t)(seed >> 40);
		if (i / BLOCK % 2)
			data[i] &= 0x3f;
	}
	return data;
}

/*
 * Reads a byte of each of @n blocks from block @first on; returns the last
 * error.
 */
static int read_blocks(struct b2f_file *file, const uint8_t *want,
		       uint32_t first, uint32_t n)
{
	int err = 0;

	for (uint32_t i = first; i < first + n; i++) {
		uint8_t byte;
		ssize_t got = b2f_file_pread(file, NULL, &byte, 1, i * BLOCK);

		if (got < 0)
			err = (int)got;
		else
			cr_assert_eq(byte, want[i * BLOCK], "block %u", i);
	}
	return err;
}

Test(file_chunks, head_and_blocks_of_two_versions_do_not_meet)
{
	OWN_DIR struct frame_dir dir = frame_dir_new();
	OWN(b2f_runtime_free) struct b2f_runtime *rt = new_runtime(64 << 20);
	OWN(free) uint8_t *before = new_data(1), *after = new_data(2);
	OWN(b2f_file_close) struct b2f_file *file, *again;

	frame_dir_chunk(&dir, 0, before, NBYTES, BLOCK);
	frame_dir_index(&dir, 1, NBYTES, NBYTES);
	file = frame_dir_open(&dir, rt);
	cr_assert_eq(read_blocks(file, before, 1, 2), 0);
	frame_dir_chunk(&dir, 0, after, NBYTES, BLOCK);
	cr_assert_eq(read_blocks(file, before, 3, 4), -ESTALE);
	cr_assert_eq(read_blocks(file, before, 1, 2), 0, "they are cached");
	again = frame_dir_open(&dir, rt);
	cr_assert_eq(read_blocks(again, after, 0, 8), 0);
}

/*
 * Two blocks of float64 with noise in the low three quarters of each item; with
 * any @seed streams of the same sizes.
 */
#define FLOATS_BLOCK (512u << 10)
#define FLOATS_SIZE  (2 * FLOATS_BLOCK)

static uint8_t *write_floats(const struct frame_dir *dir, uint32_t id,
			     uint64_t seed)
{
	const struct b2f_encode_options options = {
		.typesize = 8,
		.codec = B2F_CODEC_LZ4,
		.clevel = 5,
		.split = B2F_SPLIT_ALWAYS,
		.blocksize = FLOATS_BLOCK,
		.pipeline = {{0, 0, 0, 0, 0, B2F_FILTER_SHUFFLE}, {0}},
	};
	uint8_t *data = malloc(FLOATS_SIZE);

	for (uint32_t i = 0; i < FLOATS_SIZE; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963;
		data[i] = (uint8_t)(i % 8 < 6 ? seed >> 40 : i >> 10);
	}
	frame_dir_encode(dir, id, &options, data, FLOATS_SIZE);
	return data;
}

Test(file_chunks, excerpts_are_not_taken_of_another_version)
{
	struct frame_dir dir = frame_dir_new();
	struct b2f_runtime *rt = new_runtime(64 << 20);
	uint8_t *before = write_floats(&dir, 0, 1), *after, buf[65536];
	struct b2f_file *file, *again;

	frame_dir_index(&dir, 1, FLOATS_SIZE, FLOATS_SIZE);
	file = frame_dir_open(&dir, rt);
	/* The head of the chunk, and all of its first block. */
	cr_assert_eq(b2f_file_pread(file, NULL, buf, sizeof(buf), 100),
		     sizeof(buf));
	cr_assert_eq(memcmp(buf, before + 100, sizeof(buf)), 0);
	after = write_floats(&dir, 0, 2);
	cr_assert_eq(b2f_file_pread(file, NULL, buf, 4096, 600 << 10), -ESTALE);
	again = frame_dir_open(&dir, rt);
	cr_assert_eq(b2f_file_pread(again, NULL, buf, 4096, 600 << 10), 4096);
	cr_assert_eq(memcmp(buf, after + (600 << 10), 4096), 0);
	b2f_file_close(again);
	b2f_file_close(file);
	b2f_runtime_free(rt);
	frame_dir_remove(&dir);
	free(before);
	free(after);
}

Test(file_chunks, small_reads_are_the_bytes_of_their_file)
{
	struct frame_dir dir = frame_dir_new();
	struct b2f_runtime *rt = new_runtime(64 << 20);
	uint8_t *data = write_floats(&dir, 0, 1), buf[20000];
	struct b2f_runtime_stats stats;

	frame_dir_index(&dir, 1, FLOATS_SIZE, FLOATS_SIZE);
	for (uint64_t off = 1; off < FLOATS_SIZE; off += 9001) {
		/* Those above 16 KiB, or across such parts, are no excerpts. */
		size_t n = off * 7 % sizeof(buf) + 1;
		struct b2f_file *file = frame_dir_open(&dir, rt);

		if (n > FLOATS_SIZE - off)
			n = FLOATS_SIZE - off;
		for (size_t i = 0; i < 2; i++) {
			memset(buf, 0, sizeof(buf));
			cr_assert_eq(b2f_file_pread(file, NULL, buf, n, off),
				     (ssize_t)n);
			cr_assert_eq(memcmp(buf, data + off, n), 0,
				     "%zu at %llu", n, (unsigned long long)off);
		}
		b2f_runtime_stats_get(rt, &stats);
		cr_assert_leq(stats.misses, 3 * (1 + off / 9001));
		b2f_file_close(file);
	}
	b2f_runtime_free(rt);
	frame_dir_remove(&dir);
	free(data);
}

Test(file_chunks, another_mode_or_link_is_no_other_chunk)
{
	OWN_DIR struct frame_dir dir = frame_dir_new();
	OWN(b2f_runtime_free) struct b2f_runtime *rt = new_runtime(64 << 20);
	OWN(free) uint8_t *data = new_data(1);
	char path[128], other[128];
	OWN(b2f_file_close) struct b2f_file *file;

	frame_dir_chunk(&dir, 0, data, NBYTES, BLOCK);
	frame_dir_index(&dir, 1, NBYTES, NBYTES);
	file = frame_dir_open(&dir, rt);
	cr_assert_eq(read_blocks(file, data, 0, 1), 0);
	snprintf(path, sizeof(path), "%s/00000000.chunk", dir.path);
	snprintf(other, sizeof(other), "%s/copy", dir.path);
	cr_assert_eq(chmod(path, 0600), 0);
	cr_assert_eq(link(path, other), 0);
	cr_assert_eq(read_blocks(file, data, 1, 7), 0);
}

/* Bytes that this process has read from files. */
static uint64_t bytes_read(void)
{
	unsigned long long n = 0;
	FILE *f = fopen("/proc/self/io", "r");

	cr_assert_not_null(f);
	cr_assert_eq(fscanf(f, "rchar: %llu", &n), 1);
	fclose(f);
	return n;
}

/* A chunk whose table has 1.5 million entries, all of one block of zeros. */
#define SMALL	32u
#define NBLOCKS 1500000u

static void write_wide_table(const struct frame_dir *dir)
{
	uint32_t table = 4 * NBLOCKS, size = 32 + table + 4;
	OWN(free) uint8_t *raw = calloc(1, size);

	raw[0] = 5;
	raw[1] = 1;
	/* zstd, not split, with an extended header. */
	raw[2] = 4 << 5 | 0x10 | 0x05;
	raw[3] = 1;
	b2f_store_le32(raw + 4, NBLOCKS * SMALL);
	b2f_store_le32(raw + 8, SMALL);
	b2f_store_le32(raw + 12, size);
	for (uint32_t i = 0; i < NBLOCKS; i++)
		b2f_store_le32(raw + 32 + 4 * (size_t)i, 32 + table);
	frame_dir_write(dir, "00000000.chunk", raw, size);
	frame_dir_index(dir, 1, NBLOCKS * SMALL, (int32_t)(NBLOCKS * SMALL));
}

/* Reads 4 KiB of chunk @nchunk; returns the stored bytes that were read. */
static uint64_t read_page(struct b2f_file *file, uint8_t *const *data,
			  unsigned int nchunk, uint32_t off)
{
	uint64_t before = bytes_read();
	uint8_t buf[4096];

	cr_assert_eq(b2f_file_pread(file, NULL, buf, sizeof(buf),
				    (uint64_t)nchunk * FLOATS_SIZE + off),
		     sizeof(buf));
	cr_assert_eq(memcmp(buf, data[nchunk] + off, sizeof(buf)), 0);
	return bytes_read() - before;
}

Test(file_chunks, a_chunk_that_is_read_again_soon_is_decoded_whole)
{
	struct frame_dir dir = frame_dir_new();
	/* Room for two units. */
	struct b2f_runtime *rt = new_runtime(FLOATS_SIZE);
	struct b2f_file *file;
	uint8_t *data[4];

	for (uint32_t i = 0; i < 4; i++)
		data[i] = write_floats(&dir, i, i);
	frame_dir_index(&dir, 4, 4 * FLOATS_SIZE, FLOATS_SIZE);
	file = frame_dir_open(&dir, rt);
	for (uint32_t i = 0; i < 8; i++)
		cr_assert_lt(read_page(file, data, i % 4, i << 14), 64 << 10);
	cr_assert_gt(read_page(file, data, 2, 9 << 14), 256 << 10);
	cr_assert_lt(read_page(file, data, 2, 4 << 14), 1024);
	b2f_file_close(file);
	b2f_runtime_free(rt);
	frame_dir_remove(&dir);
	for (uint32_t i = 0; i < 4; i++)
		free(data[i]);
}

Test(file_chunks, a_large_head_is_loaded_once_a_read)
{
	OWN_DIR struct frame_dir dir = frame_dir_new();
	OWN(b2f_runtime_free) struct b2f_runtime *rt = new_runtime(64 << 20);
	OWN(free) uint8_t *buf = malloc(1 << 17);
	struct b2f_view view = {0};
	OWN(b2f_file_close) struct b2f_file *file;
	uint64_t before;

	write_wide_table(&dir);
	file = frame_dir_open(&dir, rt);
	before = bytes_read();
	memset(buf, 1, 1 << 17);
	cr_assert_eq(b2f_file_pread(file, NULL, buf, 1 << 17, 5), 1 << 17);
	for (size_t i = 0; i < 1 << 17; i++)
		cr_assert_eq(buf[i], 0);
	cr_assert_lt(bytes_read() - before, 2 * 4 * NBLOCKS);
	before = bytes_read();
	cr_assert_eq(b2f_file_view(file, NULL, 1 << 17, 1 << 20, &view),
		     1 << 17);
	b2f_file_view_release(&view);
	cr_assert_lt(bytes_read() - before, 2 * 4 * NBLOCKS);
}

Test(file_chunks, a_chunk_larger_than_the_cache_is_decoded_once)
{
	struct frame_dir dir = frame_dir_new();
	struct b2f_runtime *rt = new_runtime(NBYTES / 2);
	uint8_t *data = new_data(1), buf[5000];
	struct b2f_runtime_stats stats;
	struct b2f_file *file;
	ssize_t n;

	/* Blocks so small that the chunk is decoded as a whole. */
	frame_dir_chunk(&dir, 0, data, NBYTES, 1024);
	frame_dir_index(&dir, 1, NBYTES, NBYTES);
	file = frame_dir_open(&dir, rt);
	for (size_t off = 0; off < NBYTES; off += (size_t)n) {
		n = b2f_file_pread(file, NULL, buf, sizeof(buf), off);
		cr_assert_gt(n, 0);
		cr_assert_eq(memcmp(buf, data + off, (size_t)n), 0);
	}
	b2f_runtime_stats_get(rt, &stats);
	cr_assert_eq(stats.misses, 1);
	b2f_file_close(file);
	b2f_runtime_stats_get(rt, &stats);
	cr_assert_eq(stats.cached_bytes, 0);
	b2f_runtime_free(rt);
	frame_dir_remove(&dir);
	free(data);
}
