/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_file_concurrent.c - a file whose index another program touches meanwhile
 *
 * Most of these tests are for the thread sanitizer.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "array/npy.h"
#include "b2frame/b2frame.h"
#include "tests/support/scratch_file.h"

#define INDEX "chunks.b2frame"

static struct scratch set_up(void)
{
	const struct b2f_runtime_options options = {.cache_bytes = 1 << 20,
						    .nworkers = 1};
	struct b2f_settings settings = b2f_settings_default();
	struct scratch s = scratch_new(&settings, &options);

	s.options.chunksize = 1000;
	open_file(&s);
	return s;
}

static int set_mode(void *arg, int dirfd)
{
	(void)arg;
	return fchmodat(dirfd, INDEX, 0600, 0) ? -errno : 0;
}

/* A time in the year 2000, which no index has by chance. */
static const struct timespec OLD = {.tv_sec = 978307199};

static int set_time(void *arg, int dirfd)
{
	const struct timespec times[] = {OLD, OLD};

	(void)arg;
	return utimensat(dirfd, INDEX, times, 0) ? -errno : 0;
}

static int fail(void *arg, int dirfd)
{
	(void)arg, (void)dirfd;
	return -EIO;
}

/* In the middle of our chmod, another program appends to the frame. */
static int set_mode_late(void *arg, int dirfd)
{
	const struct b2f_frame_options options = {.offset = 0};
	struct scratch *s = arg;
	struct b2f_frame *frame;
	struct b2f_file *other;

	cr_assert_eq(b2f_frame_open(&options, AT_FDCWD, s->frame, &frame), 0);
	cr_assert_eq(b2f_file_open(s->rt, frame, &other), 0);
	cr_assert_eq(b2f_file_allow_write(other, &s->options), 0);
	cr_assert_eq(b2f_file_pwrite(other, "abc", 3, 0), 3);
	cr_assert_eq(b2f_file_commit(other, B2F_COMMIT_DURABLE), 0);
	b2f_file_close(other);
	return set_mode(NULL, dirfd);
}

static bool has_foreign(struct scratch *s)
{
	bool changed;

	cr_assert_eq(b2f_file_refresh(s->file, 0, &changed), 0);
	return changed;
}

Test(file_concurrent, our_own_chmod_is_no_news)
{
	OWN_SCRATCH struct scratch s = set_up();

	cr_assert_eq(b2f_file_with_index(s.file, NULL, set_mode, NULL), 0);
	cr_assert_not(has_foreign(&s));
	cr_assert_eq(b2f_file_with_index(s.file, &OLD, set_time, NULL), 0);
	cr_assert_not(has_foreign(&s));
	cr_assert_eq(b2f_file_allow_write(s.file, &s.options), 0);
	cr_assert_eq(b2f_file_with_index(s.file, NULL, set_mode, NULL), 0);
	cr_assert_not(has_foreign(&s));
}

Test(file_concurrent, what_sets_no_time_leaves_that_of_the_write)
{
	OWN_SCRATCH struct scratch s = set_up();
	char path[160];
	struct stat st;

	cr_assert_eq(b2f_file_with_index(s.file, &OLD, set_time, NULL), 0);
	cr_assert_eq(b2f_file_allow_write(s.file, &s.options), 0);
	cr_assert_eq(b2f_file_pwrite(s.file, "abc", 3, 0), 3);
	cr_assert_eq(b2f_file_with_index(s.file, &OLD, fail, NULL), -EIO);
	cr_assert_eq(b2f_file_commit(s.file, B2F_COMMIT_DURABLE), 0);
	snprintf(path, sizeof(path), "%s/" INDEX, s.frame);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_gt(st.st_mtime, OLD.tv_sec);
}

Test(file_concurrent, a_change_in_the_middle_of_our_chmod_is_found)
{
	OWN_SCRATCH struct scratch s = set_up();

	cr_assert_eq(b2f_file_with_index(s.file, NULL, set_mode_late, &s), 0);
	cr_assert(has_foreign(&s));
	cr_assert_eq(b2f_file_size(s.file), 3);
}

static void *set_modes(void *arg)
{
	struct scratch *s = arg;

	for (int i = 0; i < 20; i++)
		cr_assert_eq(b2f_file_with_index(s->file, NULL, set_mode, NULL),
			     0);
	return NULL;
}

static void *write_and_commit(void *arg)
{
	struct scratch *s = arg;

	cr_assert_eq(b2f_file_allow_write(s->file, &s->options), 0);
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(b2f_file_pwrite(s->file, "abc", 3, 0), 3);
		cr_assert_eq(b2f_file_commit(s->file, B2F_COMMIT_DURABLE), 0);
	}
	return NULL;
}

#define NAPPENDS 20000

static void *append_some(void *arg)
{
	struct scratch *s = arg;
	uint64_t off;

	for (int i = 0; i < NAPPENDS; i++)
		cr_assert_eq(b2f_file_append(s->file, "line\n", 5, &off), 5);
	return NULL;
}

Test(file_concurrent, appends_of_threads_follow_each_other)
{
	pthread_t threads[4];
	OWN_SCRATCH struct scratch s = set_up();

	cr_assert_eq(b2f_file_allow_write(s.file, &s.options), 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, append_some, &s);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(b2f_file_size(s.file), 4 * NAPPENDS * 5);
}

Test(file_concurrent, begins_to_write_while_the_mode_is_set)
{
	pthread_t threads[2];
	OWN_SCRATCH struct scratch s = set_up();

	for (int i = 0; i < 10; i++) {
		pthread_create(&threads[0], NULL, set_modes, &s);
		pthread_create(&threads[1], NULL, write_and_commit, &s);
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
		cr_assert_not(has_foreign(&s));
		b2f_file_close(s.file);
		open_file(&s);
	}
}

/* Writes a .npy file of @n bytes to @s, which becomes an array. */
static void write_npy(struct scratch *s, uint32_t n)
{
	char dtype[] = "|u1";
	const struct b2f_array array = {
		.ndim = 1, .shape = {n}, .itemsize = 1, .dtype = dtype};
	OWN(free) uint8_t *head = NULL, *data = calloc(1, n);
	size_t len = 0;

	memset(data, 7, n);
	cr_assert_eq(b2f_npy_write(&array, &head, &len), 0);
	cr_assert_eq(b2f_file_pwrite(s->file, head, len, 0), (ssize_t)len);
	cr_assert_eq(b2f_file_pwrite(s->file, data, n, len), (ssize_t)n);
	cr_assert_eq(b2f_file_commit(s->file, B2F_COMMIT_VISIBLE), 0);
	cr_assert(b2f_file_is_npy(s->file));
}

/*
 * Another program resizes an array of @n items, and has changed the shape in
 * the index, but not the chunks.
 */
static void resize_in_part(const struct scratch *s, uint8_t n)
{
	const uint8_t shape[] = {0xd3, 0, 0, 0, 0, 0, 0, 0, n};
	char path[160];
	uint8_t buf[4096], *at;
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/" INDEX, s->frame);
	f = fopen(path, "r+b");
	cr_assert_not_null(f);
	size = fread(buf, 1, sizeof(buf), f);
	/* Behind the sizes of the frame. */
	at = memmem(buf + 87, size - 87, shape, sizeof(shape));
	cr_assert_not_null(at);
	at[8]++;
	rewind(f);
	cr_assert_eq(fwrite(buf, 1, size, f), size);
	cr_assert_eq(fclose(f), 0);
}

/* What does not fit its shape is no array, and no plain data either. */
Test(file_concurrent, the_end_of_writing_takes_no_array_that_is_being_resized)
{
	const struct timespec tick = {.tv_nsec = 30000000};
	OWN_SCRATCH struct scratch s = set_up();
	uint64_t size;

	s.options.npy_arrays = true;
	s.options.chunksize = 50;
	cr_assert_eq(b2f_file_allow_write(s.file, &s.options), 0);
	write_npy(&s, 100);
	size = b2f_file_size(s.file);
	nanosleep(&tick, NULL);
	resize_in_part(&s, 100);
	cr_expect_eq(b2f_file_end_write(s.file), B2F_ECORRUPT);
	cr_expect_eq(b2f_file_size(s.file), size);
}

static atomic_uint nlogged;

static void count_line(void *arg, enum b2f_log_level level, const char *text)
{
	(void)arg, (void)level;
	fprintf(stderr, "%s\n", text);
	/* A slow reader gives up after some reverts during its read. */
	if (!strstr(text, "keeps changing it"))
		atomic_fetch_add(&nlogged, 1);
}

struct crowd {
	struct b2f_file *file;
	atomic_bool is_over;
	atomic_int err;
};

static void *read_on(void *arg)
{
	struct crowd *crowd = arg;
	uint8_t buf[5000];

	while (!atomic_load(&crowd->is_over)) {
		ssize_t n =
			b2f_file_pread(crowd->file, NULL, buf, sizeof(buf), 0);

		if (n < 0 && n != -ESTALE)
			atomic_store(&crowd->err, (int)n);
	}
	return NULL;
}

Test(file_concurrent, a_revert_shows_no_damage_to_readers)
{
	const struct b2f_log log = {.write = count_line,
				    .max_level = B2F_LOG_WARNING};
	const struct b2f_frame_options options = {.log = &log};
	static uint8_t data[5000];
	struct crowd crowd = {0};
	struct b2f_frame *frame;
	pthread_t readers[3];
	OWN_SCRATCH struct scratch s = set_up();

	b2f_file_close(s.file);
	cr_assert_eq(b2f_frame_open(&options, AT_FDCWD, s.frame, &frame), 0);
	cr_assert_eq(b2f_file_open(s.rt, frame, &s.file), 0);
	crowd.file = s.file;
	cr_assert_eq(b2f_file_allow_write(s.file, &s.options), 0);
	for (int i = 0; i < 3; i++)
		pthread_create(&readers[i], NULL, read_on, &crowd);
	for (int i = 0; i < 300; i++) {
		memset(data, i, sizeof(data));
		cr_assert_gt(b2f_file_pwrite(s.file, data, sizeof(data), 0), 0);
		cr_assert_eq(b2f_file_commit(s.file, B2F_COMMIT_VISIBLE), 0);
		cr_assert_eq(b2f_file_truncate(s.file, 1500), 0);
		if (i % 2)
			cr_assert_gt(b2f_file_pwrite(s.file, "x", 1, 3), 0);
		cr_assert_eq(b2f_file_revert(s.file), 0);
		cr_assert_eq(b2f_file_size(s.file), sizeof(data));
	}
	atomic_store(&crowd.is_over, true);
	for (int i = 0; i < 3; i++)
		pthread_join(readers[i], NULL);
	cr_expect_eq(atomic_load(&crowd.err), 0, "error %d",
		     atomic_load(&crowd.err));
	cr_expect_eq(atomic_load(&nlogged), 0);
}
