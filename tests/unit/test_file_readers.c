/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_file_readers.c - readings of a file, and threads that wait for them
 *
 * The tests use functions of file/ where the moment matters.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "file/reading.h"
#include "file/writer.h"
#include "tests/support/frame_dir.h"

#define NCHUNKS	  4
#define CHUNKSIZE 40000

struct scratch {
	struct frame_dir dir;
	struct b2f_runtime *rt;
	struct b2f_file *file;
	/* The readers from before have ended. */
	atomic_bool is_over;
	/* The result of read_third(). */
	ssize_t got;
	uint8_t byte;
};

static const struct b2f_write_options write_options = {.chunksize = CHUNKSIZE};

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_nsec = ms * 1000000};

	nanosleep(&pause, NULL);
}

/* Makes chunk @n, and the index, as C-Blosc2 does: without checksums. */
static void put_chunk(struct scratch *s, uint32_t n, uint8_t value)
{
	uint8_t data[CHUNKSIZE];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(value + (i * i * i * 2654435761u >> 17));
	frame_dir_chunk(&s->dir, n, data, CHUNKSIZE, CHUNKSIZE);
	frame_dir_index(&s->dir, NCHUNKS, NCHUNKS * CHUNKSIZE, CHUNKSIZE);
}

static struct scratch set_up(void)
{
	const struct b2f_runtime_options options = {.cache_bytes = 1 << 20,
						    .nworkers = 1};
	struct scratch s = {.dir = frame_dir_new()};

	for (uint32_t i = 0; i < NCHUNKS; i++)
		put_chunk(&s, i, (uint8_t)(10 * i + 1));
	cr_assert_eq(b2f_runtime_new(&options, &s.rt), 0);
	s.file = frame_dir_open(&s.dir, s.rt);
	return s;
}

static void tear_down(struct scratch *s)
{
	b2f_file_close(s->file);
	b2f_runtime_free(s->rt);
	frame_dir_remove(&s->dir);
}

#define OWN_SCRATCH __attribute__((cleanup(tear_down)))

static void *wait_for_readers(void *arg)
{
	struct scratch *s = arg;

	b2f_writer_end_readers(s->file);
	atomic_store(&s->is_over, true);
	return NULL;
}

/*
 * A reader may wait for memory that another thread gives back only after a
 * reading of its own.
 */
Test(file_readers, a_wait_for_readings_keeps_no_new_one_waiting, .timeout = 20)
{
	struct b2f_reading before, after;
	OWN_SCRATCH struct scratch s = set_up();
	pthread_t thread;

	cr_assert_eq(b2f_file_allow_write(s.file, &write_options), 0);
	b2f_reading_begin(s.file, &before);
	pthread_create(&thread, NULL, wait_for_readers, &s);
	pause_ms(100);
	b2f_reading_begin(s.file, &after);
	cr_expect_not(atomic_load(&s.is_over));
	b2f_reading_end(&before);
	/* It waits for no reading that began later. */
	pthread_join(thread, NULL);
	cr_expect(atomic_load(&s.is_over));
	b2f_reading_end(&after);
}

static void *read_third(void *arg)
{
	struct scratch *s = arg;

	s->got = b2f_file_pread(s->file, NULL, &s->byte, 1, 2 * CHUNKSIZE);
	return NULL;
}

/* A program writes to a chunk file, or puts another one in its place. */
static void read_during_commit(bool is_missing)
{
	char name[128];
	OWN_SCRATCH struct scratch s = set_up();
	pthread_t thread;

	cr_assert_eq(b2f_file_allow_write(s.file, &write_options), 0);
	read_third(&s);
	pthread_mutex_lock(&s.file->commit_lock);
	pause_ms(30);
	snprintf(name, sizeof(name), "%s/00000002.chunk", s.dir.path);
	put_chunk(&s, 2, 99);
	if (is_missing) {
		cr_assert_eq(unlink(name), 0);
		b2f_head_forget_all(s.file);
	}
	b2f_cache_drop_file(s.rt->cache, s.file->cache_id);
	pthread_create(&thread, NULL, read_third, &s);
	pause_ms(100);
	put_chunk(&s, 2, 99);
	pthread_mutex_unlock(&s.file->commit_lock);
	pthread_join(thread, NULL);
	cr_expect_eq(s.got, 1, "%d, %d", is_missing, (int)s.got);
	cr_expect_eq(s.byte, 99);
}

/* As if the clock had stepped back since the index was made. */
static void step_back(struct scratch *s)
{
	const int64_t hour_ns = INT64_C(3600000000000);

	s->file->writer->txn->stamp.ctime_ns += hour_ns;
}

Test(file_readers, after_the_clock_stepped_back_no_chunk_of_others_is_replaced)
{
	OWN_SCRATCH struct scratch s = set_up();

	cr_assert_eq(b2f_file_allow_write(s.file, &write_options), 0);
	cr_assert_eq(b2f_file_pwrite(s.file, "x", 1, 2 * CHUNKSIZE), 1);
	step_back(&s);
	put_chunk(&s, 2, 99);
	cr_expect_eq(b2f_file_commit(s.file, B2F_COMMIT_VISIBLE), -ESTALE);
}

static void *write_third(void *arg)
{
	struct scratch *s = arg;

	s->got = b2f_file_pwrite(s->file, "x", 1, 2 * CHUNKSIZE);
	return NULL;
}

/* Another program had the lock for a moment, after a revert. */
Test(file_readers, a_write_during_a_revert_allows_writing_again)
{
	struct b2f_txn *txn;
	OWN_SCRATCH struct scratch s = set_up();
	pthread_t thread;

	cr_assert_eq(b2f_file_allow_write(s.file, &write_options), 0);
	b2f_writer_lock(s.file);
	pthread_create(&thread, NULL, write_third, &s);
	pause_ms(100);
	pthread_mutex_lock(&s.file->lock);
	txn = b2f_writer_take_txn(s.file);
	pthread_mutex_unlock(&s.file->lock);
	b2f_txn_free(txn);
	atomic_store(&s.file->writer->is_lost, true);
	b2f_writer_unlock(s.file);
	pthread_join(thread, NULL);
	cr_expect_eq(s.got, 1, "%d", (int)s.got);
}

/* The commit ends soon, and takes the change in. */
Test(file_readers, a_reader_of_a_changed_frame_waits_for_a_commit)
{
	read_during_commit(false);
	read_during_commit(true);
}

/* Its chunk files may be deleted, and their room used again. */
Test(file_readers, a_reading_from_before_the_first_writer_is_waited_for)
{
	struct b2f_reading r;
	OWN_SCRATCH struct scratch s = set_up();
	pthread_t thread;

	b2f_reading_begin(s.file, &r);
	cr_assert_eq(b2f_file_allow_write(s.file, &write_options), 0);
	pthread_create(&thread, NULL, wait_for_readers, &s);
	pause_ms(100);
	cr_expect_not(atomic_load(&s.is_over));
	b2f_reading_end(&r);
	pthread_join(thread, NULL);
}

/* Threads that wait for readers wait one after the other. */
Test(file_readers, several_threads_wait_for_readings)
{
	pthread_t threads[4];
	struct b2f_reading r;
	OWN_SCRATCH struct scratch s = set_up();

	cr_assert_eq(b2f_file_allow_write(s.file, &write_options), 0);
	for (int round = 0; round < 50; round++) {
		b2f_reading_begin(s.file, &r);
		for (size_t i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, wait_for_readers, &s);
		b2f_reading_end(&r);
		for (size_t i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
}

static void *revert(void *arg)
{
	struct scratch *s = arg;

	cr_expect_eq(b2f_file_revert(s->file), 0);
	atomic_store(&s->is_over, true);
	return NULL;
}

/* They may use chunks that were never committed. */
Test(file_readers, a_revert_waits_for_readings_and_is_told)
{
	struct b2f_file_now now;
	struct b2f_reading r;
	OWN_SCRATCH struct scratch s = set_up();
	pthread_t thread;

	cr_assert_eq(b2f_file_allow_write(s.file, &write_options), 0);
	cr_assert_eq(b2f_file_pwrite(s.file, "x", 1, 0), 1);
	b2f_reading_begin(s.file, &r);
	pthread_create(&thread, NULL, revert, &s);
	pause_ms(100);
	cr_expect_not(atomic_load(&s.is_over));
	b2f_reading_end(&r);
	pthread_join(thread, NULL);
	b2f_file_now_get(s.file, &now);
	cr_expect_eq(now.ndropped, 1);
}

static void write_lock(const struct scratch *s, uint64_t generation)
{
	const uint64_t raw[] = {0, generation};

	frame_dir_write(&s->dir, ".b2lock", raw, sizeof(raw));
}

/* A chunk without checksum, younger than its index, proves nothing then. */
Test(file_readers, a_reader_goes_on_after_another_program_had_the_lock)
{
	char name[128];
	OWN_SCRATCH struct scratch s = set_up();

	b2f_file_close(s.file);
	write_lock(&s, 1);
	s.file = frame_dir_open(&s.dir, s.rt);
	pause_ms(30);
	snprintf(name, sizeof(name), "%s/00000002.chunk", s.dir.path);
	cr_assert_eq(chmod(name, 0600), 0);
	write_lock(&s, 2);
	read_third(&s);
	cr_expect_eq(s.got, 1, "%d", (int)s.got);
}

/* They would keep the old frame in memory, and its chunk files open. */
Test(file_readers, heads_of_an_older_version_are_forgotten)
{
	bool changed = false;
	OWN_SCRATCH struct scratch s = set_up();

	read_third(&s);
	cr_assert_gt(s.file->heads_bytes, 0);
	pause_ms(30);
	put_chunk(&s, 2, 99);
	cr_assert_eq(b2f_file_refresh(s.file, 0, &changed), 0);
	cr_assert(changed);
	cr_expect_eq(s.file->heads_bytes, 0);
}

static bool has_third(const struct scratch *s)
{
	char name[128];

	snprintf(name, sizeof(name), "%s/00000002.chunk", s->dir.path);
	return access(name, F_OK) == 0;
}

/* Leaves the chunk file of another program to no index. */
static struct scratch replace_third(void)
{
	struct scratch s = set_up();

	pause_ms(30);
	cr_assert_eq(b2f_file_allow_write(s.file, &write_options), 0);
	cr_assert_eq(b2f_file_pwrite(s.file, "x", 1, 2 * CHUNKSIZE), 1);
	cr_assert_eq(b2f_file_commit(s.file, B2F_COMMIT_DURABLE), 0);
	cr_assert_eq(s.file->writer->txn->garbage.retired.n, 1);
	cr_assert(has_third(&s));
	return s;
}

Test(file_readers, after_the_clock_stepped_back_no_retired_chunk_is_deleted)
{
	const int64_t hour_ns = INT64_C(3600000000000);

	for (int steps = 0; steps < 2; steps++) {
		OWN_SCRATCH struct scratch s = replace_third();

		s.file->writer->txn->garbage.retired.files[0].left_ns +=
			steps * hour_ns;
		b2f_file_close(s.file);
		s.file = NULL;
		cr_expect_eq(has_third(&s), steps);
	}
}

Test(file_readers, what_the_index_of_another_program_names_is_not_deleted)
{
	OWN_SCRATCH struct scratch s = replace_third();

	frame_dir_index(&s.dir, NCHUNKS, NCHUNKS * CHUNKSIZE, CHUNKSIZE);
	b2f_writer_delete_dead(s.file, B2F_DELETE_ALL);
	cr_expect(has_third(&s), "deleted meanwhile");
	b2f_file_close(s.file);
	s.file = NULL;
	cr_expect(has_third(&s), "deleted at the end");
}

/* The first chunk gets another size; the others stay as they are. */
static void put_first(struct scratch *s, uint32_t size)
{
	static const uint8_t data[CHUNKSIZE] = "data";

	frame_dir_chunk(&s->dir, 0, data, size, size);
	frame_dir_index(&s->dir, NCHUNKS, size + 3 * CHUNKSIZE, 0);
}

/* What is written to a chunk would be shown elsewhere. */
Test(file_readers, chunks_that_begin_elsewhere_now_are_not_merged)
{
	OWN_SCRATCH struct scratch s = set_up();

	b2f_file_close(s.file);
	put_first(&s, 30000);
	pause_ms(30);
	s.file = frame_dir_open(&s.dir, s.rt);
	cr_assert_eq(b2f_file_allow_write(s.file, &write_options), 0);
	cr_assert_eq(b2f_file_pwrite(s.file, "x", 1, 2 * CHUNKSIZE), 1);
	pause_ms(30);
	put_first(&s, 20000);
	cr_expect_eq(b2f_file_commit(s.file, B2F_COMMIT_VISIBLE), -ESTALE);
}
