/* SPDX-License-Identifier: BSD-3-Clause */
/* test_head.c - chunk files stay open for the next block */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/b2frame.h"
#include "frame/frame.h"
#include "tests/support/fault_store.h"
#include "tests/support/frame_dir.h"

#define NCHUNKS	  20
#define CHUNKSIZE (64u << 10)
#define BLOCKSIZE (4u << 10)

static const struct b2f_runtime_options options = {
	.cache_bytes = 16u << 20, .nworkers = 1, .no_readahead = true};

static struct fault_disk *disk;
static struct b2f_runtime *rt;
static uint8_t data[NCHUNKS * CHUNKSIZE];

static struct b2f_file *open_file(void)
{
	const struct b2f_frame_options plain = {.offset = 0};
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;

	cr_assert_eq(b2f_frame_open_store(&plain, fault_disk_mount(disk),
					  "disk", &frame),
		     0);
	cr_assert_eq(b2f_file_open(rt, frame, &file), 0);
	return file;
}

/* A frame of noise, whose blocks do not get smaller. */
static void setup(void)
{
	const struct b2f_write_options write = {.chunksize = CHUNKSIZE};
	struct b2f_settings settings = b2f_settings_default();
	struct frame_dir dir = frame_dir_new();
	OWN(b2f_file_close) struct b2f_file *file;
	char path[128];
	uint64_t seed = 1;

	snprintf(path, sizeof(path), "%s/x", dir.path);
	settings.chunksize = CHUNKSIZE;
	settings.blocksize = BLOCKSIZE;
	cr_assert_eq(b2f_frame_create(&settings, AT_FDCWD, path, 0600, false,
				      NULL),
		     0);
	disk = fault_disk_load(path);
	cr_assert_eq(b2f_frame_remove(AT_FDCWD, path), 0);
	frame_dir_remove(&dir);
	for (size_t i = 0; i < sizeof(data); i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1;
		/* Seven bits, so that the chunk is encoded. */
		data[i] = (uint8_t)(seed >> 57);
	}
	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	file = open_file();
	cr_assert_eq(b2f_file_allow_write(file, &write), 0);
	cr_assert_eq(b2f_file_pwrite(file, data, sizeof(data), 0),
		     (ssize_t)sizeof(data));
	cr_assert_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), 0);
}

static void teardown(void)
{
	b2f_runtime_free(rt);
	fault_disk_free(disk);
}

TestSuite(head, .init = setup, .fini = teardown);

/* Returns the objects opened to read @n bytes at @off, block by block. */
static uint64_t count_opens(struct b2f_file *file, uint64_t off, uint64_t n)
{
	uint8_t buf[BLOCKSIZE];
	uint64_t before;

	fault_disk_count(disk, FAULT_OPEN);
	before = fault_disk_nops(disk);
	for (uint64_t at = off; at < off + n; at += BLOCKSIZE) {
		cr_assert_eq(b2f_file_pread(file, NULL, buf, BLOCKSIZE, at),
			     BLOCKSIZE);
		cr_assert_eq(memcmp(buf, data + at, BLOCKSIZE), 0);
	}
	return fault_disk_nops(disk) - before;
}

Test(head, a_chunk_is_opened_once_for_all_of_its_blocks)
{
	OWN(b2f_file_close) struct b2f_file *file = open_file();

	cr_expect_eq(count_opens(file, 0, CHUNKSIZE), 1);
	cr_expect_eq(count_opens(file, CHUNKSIZE, 9 * CHUNKSIZE), 9);
}

/* Also if the head was read long ago, and other chunks since then. */
Test(head, few_chunks_stay_open)
{
	OWN(b2f_file_close) struct b2f_file *file = open_file();

	for (uint64_t i = 0; i < NCHUNKS; i++)
		cr_expect_eq(count_opens(file, i * CHUNKSIZE, BLOCKSIZE), 1);
	cr_expect_eq(count_opens(file, BLOCKSIZE, CHUNKSIZE - BLOCKSIZE), 1);
	cr_expect_eq(count_opens(file, (NCHUNKS - 1) * CHUNKSIZE + BLOCKSIZE,
				 CHUNKSIZE - BLOCKSIZE),
		     0);
}

/* One open fails for lack of a descriptor; then no chunk stays open for a
 * while. */
Test(head, what_is_open_does_not_keep_others_from_reading)
{
	struct fault_plan plan = {.err = EMFILE, .kinds = FAULT_OPEN};
	OWN(b2f_file_close) struct b2f_file *file = open_file();

	cr_expect_eq(count_opens(file, 0, 2 * CHUNKSIZE), 2);
	plan.at = fault_disk_nops(disk);
	fault_disk_fail(disk, &plan);
	cr_expect_eq(count_opens(file, 2 * CHUNKSIZE, BLOCKSIZE), 3);
	cr_expect_eq(count_opens(file, 2 * CHUNKSIZE + BLOCKSIZE, BLOCKSIZE),
		     1);
	sleep(2);
	cr_expect_eq(count_opens(file, 2 * CHUNKSIZE, CHUNKSIZE), 1);
}

/* The reader or a worker loads the head, and both use it. */
Test(head, chunk_is_opened_once_for_a_reader_in_order_and_what_is_decoded_ahead)
{
	struct b2f_runtime_options ahead = options;
	struct b2f_stream *stream = NULL;
	struct b2f_file *file;
	uint8_t buf[BLOCKSIZE];
	uint64_t before;

	b2f_runtime_free(rt);
	ahead.no_readahead = false;
	ahead.nworkers = 2;
	cr_assert_eq(b2f_runtime_new(&ahead, &rt), 0);
	file = open_file();
	cr_assert_eq(b2f_stream_new(file, &stream), 0);
	fault_disk_count(disk, FAULT_OPEN);
	before = fault_disk_nops(disk);
	for (uint64_t at = 0; at < sizeof(data); at += BLOCKSIZE) {
		cr_assert_eq(b2f_file_pread(file, stream, buf, BLOCKSIZE, at),
			     BLOCKSIZE);
		cr_assert_eq(memcmp(buf, data + at, BLOCKSIZE), 0);
	}
	/*
	 * A chunk may be opened again if it was closed for others, but not for
	 * each block.
	 */
	cr_expect_lt(fault_disk_nops(disk) - before, 2 * NCHUNKS);
	b2f_stream_free(stream);
	b2f_file_close(file);
}

static pthread_barrier_t together;

/* Reads another block of each chunk than the other threads. */
static void *read_block(void *arg)
{
	struct b2f_file *file = arg;
	static atomic_uint next;
	uint64_t block = atomic_fetch_add(&next, 1);
	uint8_t buf[BLOCKSIZE];
	intptr_t bad = 0;

	for (uint64_t i = 0; i < NCHUNKS; i++) {
		uint64_t at = i * CHUNKSIZE + block * BLOCKSIZE;

		pthread_barrier_wait(&together);
		bad |= b2f_file_pread(file, NULL, buf, BLOCKSIZE, at) !=
		       BLOCKSIZE;
		bad |= memcmp(buf, data + at, BLOCKSIZE) != 0;
	}
	return (void *)bad;
}

Test(head, chunk_that_many_threads_want_at_once_is_opened_once)
{
	OWN(b2f_file_close) struct b2f_file *file = open_file();
	pthread_t threads[8];
	uint64_t before;
	void *bad;

	pthread_barrier_init(&together, NULL, 8);
	fault_disk_count(disk, FAULT_OPEN);
	before = fault_disk_nops(disk);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, read_block,
					    file),
			     0);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &bad);
		cr_assert_null(bad);
	}
	cr_expect_eq(fault_disk_nops(disk) - before, NCHUNKS);
	pthread_barrier_destroy(&together);
}
