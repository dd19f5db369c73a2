/* SPDX-License-Identifier: BSD-3-Clause */
/* test_file_full.c - partial commits of files for which the disk has no room */
#include <criterion/criterion.h>
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "b2frame/b2frame.h"
#include "file/writer.h"
#include "frame/frame.h"
#include "tests/support/fault_frame.h"

#define CHUNKSIZE 5000
#define NCHUNKS	  5

/* The position of the data in the file of an incompressible chunk. */
#define DATA_OFF 32

static const struct b2f_store_ops *real;
static struct b2f_store_ops ops;
static struct b2f_store_write_ops write_ops;
static struct b2f_file *file;
static uint8_t data[NCHUNKS * CHUNKSIZE];
static atomic_bool is_full;
static atomic_uint nfirst;
static sem_t entered;

/* Noise; each chunk begins with its number. */
static void make_data(void)
{
	uint64_t seed = 1;

	for (size_t i = 0; i < sizeof(data); i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1;
		data[i] = i % CHUNKSIZE ? (uint8_t)(seed >> 33)
					: (uint8_t)(i / CHUNKSIZE);
	}
}

static void write_range(uint64_t off, size_t size)
{
	cr_assert_eq(b2f_file_pwrite(file, data + off, size, off),
		     (ssize_t)size);
}

static bool has_record(uint64_t nchunk)
{
	bool has;

	pthread_mutex_lock(&file->lock);
	has = b2f_record_find(file->writer, nchunk) != NULL;
	pthread_mutex_unlock(&file->lock);
	return has;
}

static void wait_for_chunk(uint64_t nchunk)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	while (has_record(nchunk))
		nanosleep(&pause, NULL);
}

/*
 * The first write of chunk 1 finds no room, nor does any write of chunk 3;
 * before chunk 3 fails, a second attempt has stored chunk 1.
 */
static int write_chunk(const struct b2f_object *object, uint64_t off,
		       const void *buf, size_t n, struct b2f_why *why)
{
	const uint8_t *bytes = buf;

	if (atomic_load(&is_full) && off == 0 && n >= CHUNKSIZE) {
		if (bytes[DATA_OFF] == 1 && atomic_fetch_add(&nfirst, 1) == 0)
			return b2f_why_set(why, -ENOSPC, "full");
		if (bytes[DATA_OFF] == 3) {
			while (atomic_load(&nfirst) == 0)
				;
			write_range(CHUNKSIZE, CHUNKSIZE);
			wait_for_chunk(1);
			return b2f_why_set(why, -ENOSPC, "full");
		}
	}
	return real->write->write(object, off, buf, n, why);
}

/* Does the commit under way wait for the record of @nchunk? */
static bool is_awaited(uint64_t nchunk)
{
	bool is;

	pthread_mutex_lock(&file->lock);
	is = b2f_record_find(file->writer, nchunk)->in_commit;
	pthread_mutex_unlock(&file->lock);
	return is;
}

/* The first write, of chunk 0, takes long to find the disk full. */
static int write_slowly(const struct b2f_object *object, uint64_t off,
			const void *buf, size_t n, struct b2f_why *why)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (atomic_fetch_add(&nfirst, 1) > 0)
		return real->write->write(object, off, buf, n, why);
	sem_post(&entered);
	while (!is_awaited(0))
		nanosleep(&pause, NULL);
	return b2f_why_set(why, -ENOSPC, "full");
}

static struct fault_disk *make_disk(uint32_t chunksize)
{
	struct b2f_settings settings = b2f_settings_default();

	settings.chunksize = chunksize;
	return fault_frame_new(&settings, false);
}

typedef int write_fn(const struct b2f_object *object, uint64_t off,
		     const void *buf, size_t n, struct b2f_why *why);

/* Writes with @hook, unless that is NULL. */
static struct b2f_file *open_disk(struct b2f_runtime *rt,
				  struct fault_disk *disk, write_fn *hook)
{
	const struct b2f_frame_options options = {.offset = 0};
	struct b2f_store *store = fault_disk_mount(disk);
	struct b2f_frame *frame = NULL;
	struct b2f_file *out = NULL;

	if (hook) {
		real = store->ops;
		write_ops = *real->write;
		write_ops.write = hook;
		ops = *real;
		ops.write = &write_ops;
		store->ops = &ops;
	}
	cr_assert_eq(b2f_frame_open_store(&options, store, "disk", &frame), 0);
	cr_assert_eq(b2f_file_open(rt, frame, &out), 0);
	return out;
}

/* Returns the bytes on @disk that have data, and checks them. */
static uint64_t count_stored(struct b2f_runtime *rt, struct fault_disk *disk)
{
	static uint8_t buf[sizeof(data)];
	struct b2f_file *stored = open_disk(rt, disk, NULL);
	ssize_t got = b2f_file_pread(stored, NULL, buf, sizeof(buf), 0);

	cr_assert_geq(got, 0);
	cr_expect_eq(memcmp(buf, data, (size_t)got), 0);
	b2f_file_close(stored);
	return (uint64_t)got;
}

Test(file_full, what_is_stored_late_leaves_no_hole_in_what_is_committed)
{
	const struct b2f_runtime_options options = {.nworkers = 3};
	const struct b2f_write_options write_options = {.chunksize = CHUNKSIZE,
							.keep_beginning = true};
	OWN(fault_disk_free) struct fault_disk *disk = make_disk(CHUNKSIZE);
	OWN(b2f_runtime_free) struct b2f_runtime *rt = NULL;

	make_data();
	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	file = open_disk(rt, disk, write_chunk);
	cr_assert_eq(b2f_file_allow_write(file, &write_options), 0);
	write_range(0, CHUNKSIZE);
	write_range(2 * CHUNKSIZE, CHUNKSIZE);
	wait_for_chunk(0);
	wait_for_chunk(2);
	/* Only the commit encodes incomplete chunks. */
	write_range(CHUNKSIZE, CHUNKSIZE - 1);
	write_range(3 * CHUNKSIZE, CHUNKSIZE - 1);
	write_range(4 * CHUNKSIZE, 1);
	atomic_store(&is_full, true);
	cr_expect_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), -ENOSPC);
	cr_expect_eq(count_stored(rt, disk), CHUNKSIZE);
	atomic_store(&is_full, false);
	write_range(0, sizeof(data));
	cr_expect_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(count_stored(rt, disk), sizeof(data));
	b2f_file_close(file);
}

Test(file_full, a_commit_tells_of_what_was_tried_since_it_began)
{
	const struct b2f_runtime_options options = {.nworkers = 1};
	const struct b2f_write_options write_options = {.chunksize = CHUNKSIZE};
	struct fault_disk *disk = make_disk(CHUNKSIZE);
	struct b2f_runtime *rt = NULL;

	make_data();
	sem_init(&entered, 0, 0);
	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	file = open_disk(rt, disk, write_slowly);
	cr_assert_eq(b2f_file_allow_write(file, &write_options), 0);
	write_range(0, CHUNKSIZE);
	sem_wait(&entered);
	cr_expect_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(count_stored(rt, disk), CHUNKSIZE);
	b2f_file_close(file);
	b2f_runtime_free(rt);
	fault_disk_free(disk);
	sem_destroy(&entered);
}

static int write_never(const struct b2f_object *object, uint64_t off,
		       const void *buf, size_t n, struct b2f_why *why)
{
	(void)object, (void)off, (void)buf, (void)n;
	return b2f_why_set(why, -ENOSPC, "full");
}

Test(file_full, many_files_without_room_do_not_use_up_the_memory)
{
	const struct b2f_runtime_options options = {
		.nworkers = 1, .dirty_bytes = 2 * CHUNKSIZE};
	const struct b2f_write_options write_options = {.chunksize = CHUNKSIZE};
	struct fault_disk *disks[20];
	struct b2f_file *files[20];
	OWN(b2f_runtime_free) struct b2f_runtime *rt = NULL;
	ssize_t n = 0;

	make_data();
	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	for (size_t i = 0; i < 20; i++) {
		disks[i] = make_disk(CHUNKSIZE);
		file = files[i] = open_disk(rt, disks[i], write_never);
		cr_assert_eq(b2f_file_allow_write(file, &write_options), 0);
		n = b2f_file_pwrite(file, data, CHUNKSIZE - 1, 0);
	}
	cr_expect_eq(n, -ENOSPC);
	cr_expect_leq(b2f_budget_bytes(&rt->budget), 5 * options.dirty_bytes);
	for (size_t i = 0; i < 20; i++) {
		b2f_file_close(files[i]);
		fault_disk_free(disks[i]);
	}
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

/* The memory for its chunk is lent to others when the commit is cancelled. */
Test(file_full, a_cancelled_commit_says_nothing_about_its_chunks)
{
	const uint32_t chunksize = 2 << 20;
	const struct b2f_runtime_options options = {
		.nworkers = 1, .cache_bytes = 32 << 20, .bounded = true};
	const struct b2f_write_options write_options = {.chunksize = chunksize};
	OWN(fault_disk_free) struct fault_disk *disk = make_disk(chunksize);
	struct b2f_cache_loan all;
	OWN(b2f_runtime_free) struct b2f_runtime *rt = NULL;

	make_data();
	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	file = open_disk(rt, disk, NULL);
	cr_assert_eq(b2f_file_allow_write(file, &write_options), 0);
	write_range(0, sizeof(data));
	cr_assert_eq(b2f_file_truncate(file, chunksize), 0);
	cr_assert_eq(b2f_cache_lend(rt->cache, 0,
				    b2f_cache_loan_max(rt->cache), true, &all),
		     0);
	b2f_patience_set(always, NULL);
	cr_expect_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), -EINTR);
	b2f_patience_set(NULL, NULL);
	cr_expect_eq(file->writer->stuck_bytes, 0);
	cr_expect(b2f_file_is_dirty(file));
	b2f_cache_repay(rt->cache, &all, 0);
	cr_expect_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(count_stored(rt, disk), sizeof(data));
	b2f_file_close(file);
}
