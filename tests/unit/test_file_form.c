/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_file_form.c - new frames are one file or a directory, and when that
 * changes
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "b2frame/write.h"
#include "programs/durability.h"
#include "programs/file_form.h"
#include "tests/support/before_exchange.h"
#include "tests/support/frame_dir.h"

#define LIMIT (64u << 10)
#define NAME  "f.b2frame"

static struct frame_dir dir;
static int dirfd_;
static struct b2f_runtime *rt;
static struct b2f_file *file;
static uint8_t data[3 * LIMIT];
static uint32_t chunksize;
static struct b2f_durability durability;

static void open_again(void)
{
	const struct b2f_write_options write = {.chunksize = chunksize,
						.durability = &durability};

	b2f_file_close(file);
	cr_assert_eq(b2f_file_open(rt, frame_at(dirfd_, NAME), &file), 0);
	cr_assert_eq(b2f_file_allow_write(file, &write), 0);
}

static void setup(void)
{
	const struct b2f_settings settings = b2f_settings_default();
	const struct b2f_runtime_options options = {.nworkers = 1};
	const struct b2f_frame_options none = {.offset = 0};
	struct b2f_frame_made made;

	chunksize = 1 << 20;
	dir = frame_dir_new();
	dirfd_ = open(dir.path, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(dirfd_, 0);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	cr_assert_eq(b2f_frame_make_small(&settings, dirfd_, NAME, 0644, &none,
					  &made),
		     0);
	b2f_frame_close(made.frame);
	open_again();
}

static bool is_dir(void)
{
	struct stat st;

	cr_assert_eq(fstatat(dirfd_, NAME, &st, 0), 0);
	return S_ISDIR(st.st_mode);
}

static void teardown(void)
{
	b2f_file_close(file);
	file = NULL;
	b2f_runtime_free(rt);
	if (is_dir())
		cr_assert_eq(b2f_frame_remove(dirfd_, NAME), 0);
	close(dirfd_);
	frame_dir_remove(&dir);
}

TestSuite(file_form, .init = setup, .fini = teardown);

static void put(uint64_t off, size_t n)
{
	cr_assert_eq(b2f_file_pwrite(file, data + off, n, off), (ssize_t)n);
}

static void check(size_t n)
{
	static uint8_t got[sizeof(data)];

	cr_assert_eq(b2f_file_size(file), n);
	cr_assert_eq(b2f_file_pread(file, NULL, got, n, 0), (ssize_t)n);
	cr_assert_arr_eq(got, data, n);
}

/* Makes the file again; returns the new frame. */
static struct b2f_frame *make_locked(void)
{
	const struct b2f_settings settings = b2f_settings_default();
	const struct b2f_frame_options options = {.offset = 0};
	struct b2f_frame_made made;

	b2f_file_close(file);
	file = NULL;
	cr_assert_eq(unlinkat(dirfd_, NAME, 0), 0);
	cr_assert_eq(b2f_frame_make_locked(&settings, dirfd_, NAME, 0644, NULL,
					   &options, &made),
		     0);
	return made.frame;
}

/* Takes the lock of a writer for a moment, if it is free. */
static bool is_locked(void)
{
	int fd = openat(dirfd_, NAME, O_RDWR);
	int ret = flock(fd, LOCK_EX | LOCK_NB);

	cr_assert(ret == 0 || errno == EWOULDBLOCK);
	close(fd);
	return ret != 0;
}

Test(file_form, a_file_made_locked_is_so_until_its_writer_ends)
{
	struct b2f_frame *frame = make_locked();
	const struct b2f_write_options write = {.durability = &durability};

	cr_assert(is_locked());
	cr_assert_eq(b2f_file_open(rt, frame, &file), 0);
	cr_assert(is_locked());
	cr_assert_eq(b2f_file_allow_write(file, &write), 0);
	cr_assert(is_locked());
	put(0, 100);
	cr_assert_eq(b2f_file_commit(file, B2F_COMMIT_VISIBLE), 0);
	cr_assert_eq(b2f_file_end_write(file), 0);
	cr_assert(!is_locked());
	cr_assert_eq(b2f_file_allow_write(file, &write), 0);
	cr_assert(is_locked());
	check(100);
}

Test(file_form, the_lock_of_a_file_made_locked_ends_with_it)
{
	struct b2f_frame *frame = make_locked();

	cr_assert(is_locked());
	b2f_frame_close(frame);
	cr_assert(!is_locked());
	open_again();
}

static void done(void *arg, int fd, ino_t ino)
{
	int *times = arg;
	struct stat st;

	cr_expect_eq(fstat(fd, &st), 0);
	cr_expect(S_ISDIR(st.st_mode) && st.st_ino == ino && is_dir());
	(*times)++;
}

static int become_sparse(void)
{
	int times = 0;
	const struct b2f_form form = {
		.dirfd = dirfd_, .name = NAME, .done = done, .arg = &times};
	int err = b2f_file_become_sparse(file, &form);

	cr_expect_eq(times, !err);
	return err;
}

static bool is_open(void)
{
	return b2f_file_outgrows(file, NULL, 0, LIMIT + 1, LIMIT);
}

static void commit(enum b2f_commit_how how)
{
	cr_assert_eq(b2f_file_commit(file, how), 0);
}

Test(file_form, what_was_written_before_and_is_written_after_is_there)
{
	const size_t sizes[] = {0, 5000, sizeof(data)};

	for (size_t i = 0; i < 3; i++) {
		put(0, sizes[i]);
		cr_assert(is_open() && !is_dir());
		cr_assert_eq(become_sparse(), 0);
		cr_assert(is_dir() && !is_open());
		check(sizes[i]);
		put(sizes[i], sizeof(data) - sizes[i]);
		check(sizeof(data));
		commit(B2F_COMMIT_DURABLE);
		open_again();
		check(sizeof(data));
		cr_assert_eq(become_sparse(), -EBUSY);
		teardown();
		setup();
	}
}

Test(file_form, what_is_beyond_the_data_stays_zeros)
{
	put(0, 100);
	cr_assert_eq(b2f_file_truncate(file, 5 << 20), 0);
	cr_assert_eq(become_sparse(), 0);
	cr_assert_eq(b2f_file_size(file), 5 << 20);
	commit(B2F_COMMIT_VISIBLE);
	open_again();
	cr_assert_eq(b2f_file_size(file), 5 << 20);
	cr_assert_eq(b2f_file_seek_hole(file, 0), 1 << 20);
}

Test(file_form, is_decided_by_the_first_commit)
{
	put(0, 10);
	cr_assert(is_open());
	commit(B2F_COMMIT_VISIBLE);
	for (int i = 0; i < 3; i++) {
		cr_assert(!is_open());
		cr_assert_eq(become_sparse(), -EBUSY);
		/* Truncated or not, open or not. */
		if (i == 1)
			cr_assert_eq(b2f_file_truncate(file, 0), 0);
		put(0, i == 1 ? 0 : sizeof(data));
		commit(B2F_COMMIT_DURABLE);
		open_again();
	}
	cr_assert(!is_dir());
	check(sizeof(data));
}

Test(file_form, is_open_as_long_as_nothing_was_written)
{
	open_again();
	cr_assert(is_open());
	cr_assert_eq(become_sparse(), 0);
	put(0, sizeof(data));
	commit(B2F_COMMIT_DURABLE);
	open_again();
	check(sizeof(data));
	cr_assert(is_dir());
}

/* The compressed size, by the chunks and by the ids in the index. */
static uint64_t told_cbytes(void)
{
	return b2f_frame_info_get(b2f_file_frame(file))->cbytes;
}

static void fill_with_noise(void)
{
	uint64_t state = 1;

	for (size_t i = 0; i < sizeof(data); i++) {
		state = state * UINT64_C(6364136223846793005) + 1;
		data[i] = (uint8_t)(state >> 33);
	}
}

/* A loss of power may leave the directory empty, whatever the file was. */
Test(file_form, is_not_durable_as_a_new_directory)
{
	cr_assert_eq(b2f_durability_get(&durability), B2F_DISK_DURABLE);
	put(0, 10);
	cr_assert_eq(become_sparse(), 0);
	cr_expect_eq(b2f_durability_get(&durability), B2F_DISK_NEW);
}

Test(file_form, the_index_tells_what_the_chunks_take)
{
	for (int sparse = 0; sparse < 2; sparse++) {
		fill_with_noise();
		if (sparse)
			cr_assert_eq(become_sparse(), 0);
		for (size_t n = 16000; n <= sizeof(data); n += 16000) {
			put(n - 16000, 16000);
			commit(B2F_COMMIT_DURABLE);
			open_again();
			cr_expect_gt(told_cbytes(), n);
			/* A single file still has the earlier chunks, too. */
			cr_expect_lt(told_cbytes(),
				     sparse ? n + 300 : 3 * n + LIMIT);
		}
		teardown();
		setup();
	}
}

Test(file_form, a_write_tells_whether_it_is_too_much)
{
	cr_assert(!b2f_file_outgrows(file, data, LIMIT, 0, LIMIT));
	cr_assert(b2f_file_outgrows(file, data, LIMIT, 1, LIMIT));
	cr_assert(b2f_file_outgrows(file, NULL, 0, LIMIT + 1, LIMIT));
	put(0, LIMIT);
	cr_assert(!b2f_file_outgrows(file, data, 1, LIMIT - 1, LIMIT));
	cr_assert(b2f_file_outgrows(file, data, 1, LIMIT, LIMIT));
}

Test(file_form, a_file_of_another_name_or_of_two_stays_one_file)
{
	put(0, 100);
	cr_assert_eq(linkat(dirfd_, NAME, dirfd_, "second", 0), 0);
	cr_assert_eq(become_sparse(), -EMLINK);
	/* The conversion is not tried again, however large the file is. */
	cr_assert(!is_open());
	check(100);
	cr_assert_eq(unlinkat(dirfd_, "second", 0), 0);
	teardown();
	setup();
	cr_assert_eq(renameat(dirfd_, NAME, dirfd_, "second"), 0);
	cr_assert_eq(become_sparse(), -ESTALE);
	cr_assert_eq(renameat(dirfd_, "second", dirfd_, NAME), 0);
}

static void write_as_others(void)
{
	frame_dir_write(&dir, NAME, "theirs", 6);
}

Test(file_form, what_others_write_right_before_the_exchange_stays)
{
	char got[6] = "";
	int fd;

	put(0, 100);
	meanwhile = write_as_others;
	cr_expect_eq(become_sparse(), -ESTALE);
	cr_assert_not(is_dir());
	fd = openat(dirfd_, NAME, O_RDONLY);
	cr_expect_eq(read(fd, got, 6), 6);
	cr_expect_arr_eq(got, "theirs", 6);
	close(fd);
}

static atomic_bool ended;

static void *read_on(void *arg)
{
	static _Thread_local uint8_t got[5000];
	struct b2f_file_now now;
	uint64_t off = 0;
	ssize_t n;

	(void)arg;
	while (!atomic_load(&ended)) {
		b2f_file_now_get(file, &now);
		cr_assert_leq(now.nbytes, sizeof(data));
		off = (off * 31 + 4999) % sizeof(data);
		n = b2f_file_pread(file, NULL, got, sizeof(got), off);
		cr_assert_geq(n, 0);
		cr_assert_arr_eq(got, data + off, (size_t)n);
	}
	return NULL;
}

/* The file is rewritten all the time, with the same bytes. */
Test(file_form, readers_go_on_while_it_becomes_a_directory_or_shorter)
{
	pthread_t threads[2];
	struct stat st;

	for (int sparse = 0; sparse < 2; sparse++) {
		fill_with_noise();
		chunksize = 16384;
		open_again();
		put(0, sizeof(data));
		if (!sparse)
			commit(B2F_COMMIT_VISIBLE);
		atomic_store(&ended, false);
		for (int i = 0; i < 2; i++)
			cr_assert_eq(pthread_create(&threads[i], NULL, read_on,
						    NULL),
				     0);
		/*
		 * Some chunks may be stored already, and another one meanwhile.
		 */
		if (sparse && is_open()) {
			int err = become_sparse();

			cr_assert(err == 0 || (err == -EBUSY && !is_open()),
				  "%d", err);
		}
		for (int i = 0; i < 30; i++) {
			put(0, sizeof(data) / (1 + (size_t)i % 3));
			commit(i % 5 ? B2F_COMMIT_VISIBLE : B2F_COMMIT_DURABLE);
			b2f_file_tidy(file, true, false);
		}
		atomic_store(&ended, true);
		for (int i = 0; i < 2; i++)
			cr_assert_eq(pthread_join(threads[i], NULL), 0);
		cr_assert_eq(fstatat(dirfd_, NAME, &st, 0), 0);
		if (!is_dir())
			cr_expect_lt((size_t)st.st_size, 2 * sizeof(data) + LIMIT);
		open_again();
		check(sizeof(data));
		teardown();
		setup();
	}
}

/* Opens the frame as another program. */
static int try_open(void)
{
	const struct b2f_frame_options options = {.offset = 0};
	struct b2f_frame *frame = NULL;
	int err = b2f_frame_open(&options, dirfd_, NAME, &frame);

	b2f_frame_close(frame);
	return err;
}

Test(file_form, a_durable_file_whose_bytes_are_zeros_is_damaged)
{
	static const uint8_t zeros[4096];
	struct stat st;
	int fd;

	put(0, 3000);
	cr_assert_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), 0);
	cr_assert_eq(try_open(), 0);
	fd = openat(dirfd_, NAME, O_WRONLY);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_leq(st.st_size, (off_t)sizeof(zeros));
	cr_assert_eq(pwrite(fd, zeros, (size_t)st.st_size, 0), st.st_size);
	cr_expect_eq(try_open(), B2F_ECORRUPT);
	cr_assert_eq(fsync(fd), 0);
	cr_expect_eq(try_open(), B2F_ECORRUPT);
	close(fd);
}

Test(file_form, a_file_that_has_lost_its_content_is_empty)
{
	const size_t sizes[] = {0, 10, 9000};

	for (size_t i = 0; i < 3; i++) {
		int fd = openat(dirfd_, NAME, O_WRONLY | O_TRUNC);

		cr_assert_eq(ftruncate(fd, (off_t)sizes[i]), 0);
		/* ext4 allocates blocks before it writes to them, too. */
		if (i == 2)
			(void)!fallocate(fd, 0, 0, (off_t)sizes[i]);
		close(fd);
		open_again();
		check(0);
		put(0, 3000);
		cr_assert_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), 0);
		open_again();
		check(3000);
	}
}
