/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_file_write.c - writing to frames as to plain files
 *
 * The model is a buffer: each change of the file is made to it, too, and both
 * must always be equal, also after the frame is closed and opened again.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "b2frame/b2frame.h"
#include "b2frame/patience.h"
#include "tests/support/scratch_file.h"

#define MODEL_MAX (3u << 20)

static uint64_t next(struct scratch *s)
{
	s->seed = s->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return s->seed >> 33;
}

static struct scratch set_up(uint32_t typesize, uint32_t chunksize,
			     size_t dirty_bytes)
{
	const struct b2f_runtime_options options = {
		.cache_bytes = 4 << 20,
		.nworkers = 2,
		.dirty_bytes = dirty_bytes,
		.bounded = true,
	};
	struct b2f_settings settings = b2f_settings_default();
	struct scratch s;

	settings.typesize = typesize;
	settings.clevel = 1;
	s = scratch_new(&settings, &options);
	s.options.chunksize = chunksize;
	s.model = calloc(1, MODEL_MAX);
	s.seed = typesize;
	open_for_writing(&s);
	return s;
}

static void check(struct scratch *s, uint64_t off, size_t n)
{
	static uint8_t buf[MODEL_MAX];
	size_t want = 0;

	if (off < s->size)
		want = n < s->size - off ? n : (size_t)(s->size - off);
	cr_assert_eq(b2f_file_size(s->file), s->size);
	cr_assert_eq(b2f_file_pread(s->file, NULL, buf, n, off), (ssize_t)want);
	for (size_t i = 0; i < want; i++)
		cr_assert_eq(buf[i], s->model[off + i],
			     "byte %llu: %02x instead of %02x",
			     (unsigned long long)(off + i), buf[i],
			     s->model[off + i]);
}

static void write_at(struct scratch *s, uint64_t off, size_t n, int kind)
{
	static uint8_t buf[MODEL_MAX];

	for (size_t i = 0; i < n; i++)
		buf[i] = kind == 0   ? 0
			 : kind == 1 ? (uint8_t)(next(s))
				     : (uint8_t)((off + i) / 7 + s->seed);
	cr_assert_eq(b2f_file_pwrite(s->file, buf, n, off), (ssize_t)n);
	memcpy(s->model + off, buf, n);
	if (off + n > s->size && n)
		s->size = off + n;
}

static void cut(struct scratch *s, uint64_t size)
{
	cr_assert_eq(b2f_file_truncate(s->file, size), 0);
	if (size < s->size)
		memset(s->model + size, 0, s->size - size);
	s->size = size;
}

static void punch(struct scratch *s, uint64_t off, uint64_t n)
{
	cr_assert_eq(b2f_file_zero(s->file, off, n), 0);
	if (off < s->size)
		memset(s->model + off, 0,
		       n < s->size - off ? n : s->size - off);
}

static void commit(struct scratch *s)
{
	cr_assert_eq(b2f_file_commit(s->file, next(s) % 2 ? B2F_COMMIT_DURABLE
							  : B2F_COMMIT_VISIBLE),
		     0);
}

static void reopen(struct scratch *s)
{
	commit(s);
	b2f_file_close(s->file);
	open_for_writing(s);
}

static void step(struct scratch *s)
{
	uint64_t off = next(s) % MODEL_MAX;
	size_t n = (size_t)(next(s) % (next(s) % 4 ? 20000 : 400000));

	if (n > MODEL_MAX - off)
		n = (size_t)(MODEL_MAX - off);
	switch (next(s) % 16) {
	case 0:
		cut(s, off);
		break;
	case 1:
		cut(s, s->size / 2);
		break;
	case 2:
		punch(s, off, n);
		break;
	case 3:
		commit(s);
		break;
	case 4:
		if (next(s) % 4 == 0)
			reopen(s);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		check(s, off, n);
		break;
	case 9:
		write_at(s, s->size < MODEL_MAX - 5000 ? s->size : off % 1000,
			 n % 5000, 2);
		break;
	default:
		write_at(s, off, n, (int)(next(s) % 3));
	}
}

static void run(uint32_t typesize, uint32_t chunksize, size_t dirty, int nsteps)
{
	OWN_SCRATCH struct scratch s = set_up(typesize, chunksize, dirty);

	for (int i = 0; i < nsteps; i++)
		step(&s);
	check(&s, 0, MODEL_MAX);
	reopen(&s);
	check(&s, 0, MODEL_MAX);
}

Test(file_write, is_like_a_plain_file)
{
	run(1, 64 << 10, 64 << 20, 1500);
}

Test(file_write, is_like_a_plain_file_with_little_memory)
{
	run(4, 64 << 10, 100 << 10, 1500);
}

Test(file_write, is_like_a_plain_file_with_odd_items)
{
	run(3, 100000, 1 << 20, 1500);
	run(16, 1 << 20, 1 << 20, 600);
}

Test(file_write, is_like_a_plain_file_with_tiny_chunks)
{
	run(8, 1000, 64 << 10, 300);
}

Test(file_write, what_is_not_committed_is_lost_at_the_end)
{
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 1 << 20);

	write_at(&s, 0, 5000, 1);
	commit(&s);
	cr_assert_eq(b2f_file_pwrite(s.file, "x", 1, 2), 1);
	cr_assert(b2f_file_is_dirty(s.file));
	b2f_file_close(s.file);
	open_for_writing(&s);
	check(&s, 0, 6000);
}

Test(file_write, only_one_may_write)
{
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 1 << 20);
	struct scratch other = s;

	open_file(&other);
	cr_assert_eq(b2f_file_allow_write(other.file, &other.options), -EBUSY);
	b2f_file_close(other.file);
}

/* Returns the number of chunk files. */
static int count_files(const struct scratch *s)
{
	DIR *d = opendir(s->frame);
	struct dirent *entry;
	int n = 0;

	cr_assert_not_null(d);
	while ((entry = readdir(d)))
		n += strstr(entry->d_name, ".chunk") != NULL;
	closedir(d);
	return n;
}

Test(file_write, leaves_no_file_that_is_not_needed)
{
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 2000);

	for (int i = 0; i < 10; i++) {
		write_at(&s, 0, 10000, 1);
		write_at(&s, 500, 9000, 1);
		commit(&s);
	}
	cut(&s, 2500);
	commit(&s);
	b2f_file_close(s.file);
	cr_assert_eq(count_files(&s), 3);
	open_for_writing(&s);
	cr_assert_eq(b2f_file_pwrite(s.file, "x", 1, 2000), 1);
	b2f_file_close(s.file);
	cr_assert_eq(count_files(&s), 3);
	open_for_writing(&s);
	check(&s, 0, 3000);
}

/* Another program has made directories with names of ours. */
Test(file_write, what_cannot_be_cleaned_up_does_not_hinder)
{
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 2000);
	char path[2][160];

	write_at(&s, 0, 1500, 1);
	commit(&s);
	b2f_file_close(s.file);
	for (int i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/.0000010%d.new", s.frame,
			 i);
		cr_assert_eq(mkdir(path[i], 0700), 0);
	}
	open_for_writing(&s);
	write_at(&s, 500, 3000, 1);
	commit(&s);
	check(&s, 0, 3500);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(rmdir(path[i]), 0);
}

Test(file_write, zeros_take_no_file)
{
	OWN_SCRATCH struct scratch s = set_up(4, 1000, 1 << 20);
	struct b2f_file_now now;

	write_at(&s, 0, 5000, 0);
	cut(&s, 123456);
	commit(&s);
	b2f_file_now_get(s.file, &now);
	cr_assert_eq(count_files(&s), 0);
	write_at(&s, 7000, 10, 1);
	punch(&s, 6500, 2000);
	commit(&s);
	cr_assert_eq(count_files(&s), 0);
	cr_assert_eq(b2f_file_seek_data(s.file, 0), -ENXIO);
	cut(&s, 123457);
	commit(&s);
	cr_assert_eq(count_files(&s), 1, "an odd end cannot be an entry alone");
	reopen(&s);
	check(&s, 0, 200000);
}

struct together {
	struct scratch *s;
	unsigned int i;
};

/* Writes its own pages, and reads them. */
static void *write_pages(void *arg)
{
	struct together *t = arg;
	uint8_t buf[3000], back[3000];

	for (unsigned int round = 0; round < 300; round++) {
		uint64_t off = ((uint64_t)(round * 7) % 100 * 4 + t->i) * 3000;

		memset(buf, (int)(round + t->i), sizeof(buf));
		cr_assert_eq(b2f_file_pwrite(t->s->file, buf, sizeof(buf), off),
			     (ssize_t)sizeof(buf));
		cr_assert_eq(b2f_file_pread(t->s->file, NULL, back,
					    sizeof(back), off),
			     (ssize_t)sizeof(back));
		cr_assert_arr_eq(buf, back, sizeof(buf));
		if (round % 50 == t->i)
			cr_assert_eq(
				b2f_file_commit(t->s->file, B2F_COMMIT_DURABLE),
				0);
	}
	return NULL;
}

Test(file_write, many_threads_write_and_commit)
{
	struct together t[4];
	pthread_t threads[4];
	OWN_SCRATCH struct scratch s = set_up(1, 50000, 200000);

	for (unsigned int i = 0; i < 4; i++) {
		t[i] = (struct together){&s, i};
		pthread_create(&threads[i], NULL, write_pages, &t[i]);
	}
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* Highly compressible data make chunk ids scarce. */
Test(file_write, a_number_that_is_used_again_shows_no_old_data)
{
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 1 << 20);

	for (int i = 0; i < 60; i++) {
		write_at(&s, 0, 20000, i % 3 ? 1 : 2);
		check(&s, 0, 30000);
		commit(&s);
		check(&s, 0, 30000);
		cut(&s, next(&s) % 2500);
		commit(&s);
		write_at(&s, s.size, 1000, 2);
		commit(&s);
	}
}

/* Gives chunk @n of the frame of @s other bytes that begin with its number. */
static void rewrite(struct scratch *s, unsigned int n)
{
	uint8_t buf[1000] = {(uint8_t)n};

	for (unsigned int i = 1; i < 40; i++)
		buf[i] = (uint8_t)next(s);
	cr_assert_eq(b2f_file_pwrite(s->file, buf, sizeof(buf), n * 1000),
		     (ssize_t)sizeof(buf));
	commit(s);
}

/* The index of a reader may name a file that is another chunk's by now. */
Test(file_write, a_reader_takes_no_other_chunk_for_an_unsealed_one)
{
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 1 << 20);
	struct scratch reader;
	uint8_t first = 0;

	b2f_file_close(s.file);
	s.options.no_seal = true;
	open_for_writing(&s);
	for (unsigned int n = 0; n < 10; n++)
		rewrite(&s, n);
	b2f_file_close(s.file);
	s.options.no_seal = false;
	open_for_writing(&s);
	reader = s;
	open_file(&reader);
	rewrite(&s, 3);
	for (unsigned int i = 0; i < 100; i++)
		rewrite(&s, i % 10 == 3 ? 4 : i % 10);
	cr_expect_eq(b2f_file_pread(reader.file, NULL, &first, 1, 3000), 1);
	cr_expect_eq(first, 3, "chunk %u", first);
	b2f_file_close(reader.file);
}

Test(file_write, a_file_cannot_grow_beyond_all_memory)
{
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 1 << 20);

	write_at(&s, 0, 500, 1);
	/* 24 bytes of 32 MiB for each hole, give or take an eighth. */
	cr_assert_eq(b2f_file_truncate(s.file, 1000 * 1200000), 0);
	cr_assert_eq(b2f_file_truncate(s.file, 1000 * 1600000), -EFBIG);
	cr_assert_eq(b2f_file_truncate(s.file, (UINT64_C(1000) << 24) + 1),
		     -EFBIG);
	cr_assert_eq(b2f_file_truncate(s.file, UINT64_MAX), -EFBIG);
	cr_assert_eq(b2f_file_pwrite(s.file, "x", 1, UINT64_C(1) << 60),
		     -EFBIG);
	cut(&s, 700);
	check(&s, 0, 800);
}

/* A reader with a view keeps the frame, but not the lock. */
Test(file_write, the_lock_ends_with_the_file)
{
	struct b2f_view view = {0};
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 1 << 20);
	struct scratch other;

	write_at(&s, 0, 5000, 1);
	commit(&s);
	b2f_file_close(s.file);
	open_for_writing(&s);
	other = s;
	open_file(&other);
	cr_assert_eq(b2f_file_view(other.file, NULL, 100, 0, &view), 100);
	b2f_file_close(s.file);
	cr_assert_eq(b2f_file_allow_write(other.file, &other.options), 0);
	b2f_file_view_release(&view);
	b2f_file_close(other.file);
	open_for_writing(&s);
}

static bool is_over(void *arg)
{
	(void)arg;
	return true;
}

/* A record that a failed write leaves would keep the file from being clean. */
Test(file_write, a_cancelled_write_to_a_hole_leaves_the_file_clean)
{
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 2000);
	struct scratch other = set_up(1, 1000, 2000);

	b2f_file_close(other.file);
	b2f_runtime_free(other.rt);
	other.rt = s.rt;
	open_for_writing(&other);
	cut(&s, 5000);
	commit(&s);
	/* The memory for changes is used up. */
	write_at(&other, 0, 900, 1);
	b2f_patience_set(is_over, NULL);
	cr_expect_eq(b2f_file_pwrite(s.file, "x", 1, 1500), -EINTR);
	b2f_patience_set(NULL, NULL);
	cr_expect_eq(b2f_file_end_write(s.file), 0);
	check(&s, 0, 6000);
	b2f_file_close(other.file);
	cr_assert_eq(b2f_frame_remove(AT_FDCWD, other.frame), 0);
	frame_dir_remove(&other.dir);
	free(other.model);
}

/* A hole that is no whole number of items has to be encoded. */
Test(file_write, a_length_that_takes_too_much_memory_changes_nothing)
{
	OWN_SCRATCH struct scratch s = set_up(8, 16 << 20, 1 << 20);

	cut(&s, 8000);
	commit(&s);
	cr_expect_eq(b2f_file_truncate(s.file, 8001), -EFBIG);
	cr_expect_eq(b2f_file_truncate(s.file, 7999), -EFBIG);
	cr_expect_eq(b2f_file_truncate(s.file, (16 << 20) + 1), -EFBIG);
	cr_expect_eq(b2f_file_size(s.file), 8000);
	cr_expect_eq(b2f_file_end_write(s.file), 0);
}

/* The chunk at the end is no whole number of items. */
Test(file_write, a_hole_may_be_punched_at_the_end)
{
	OWN_SCRATCH struct scratch s = set_up(8, 1000, 1 << 20);

	for (int i = 0; i < 2; i++) {
		write_at(&s, 0, 1999, 1);
		if (i)
			commit(&s);
		punch(&s, 1000, 999);
		check(&s, 0, 2000);
		reopen(&s);
		check(&s, 0, 2000);
	}
}

/* So many holes would have to be stored, in a frame of varied chunks. */
Test(file_write, a_refused_length_leaves_the_file_clean)
{
	const struct b2f_runtime_options options = {.nworkers = 1};
	const struct b2f_write_options write = {.chunksize = 1000};
	OWN_DIR struct frame_dir dir = frame_dir_new();
	uint8_t data[1000];
	OWN(b2f_runtime_free) struct b2f_runtime *rt;
	OWN(b2f_file_close) struct b2f_file *file;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i / 9 + 1);
	frame_dir_chunk(&dir, 0, data, 700, 700);
	frame_dir_chunk(&dir, 1, data, 900, 900);
	frame_dir_index(&dir, 2, 1600, 0);
	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	file = frame_dir_open(&dir, rt);
	cr_assert_eq(b2f_file_allow_write(file, &write), 0);
	cr_assert_eq(b2f_file_pwrite(file, data, 10, 1600), 10);
	cr_assert_eq(b2f_file_commit(file, B2F_COMMIT_VISIBLE), 0);
	cr_assert_eq(b2f_file_truncate(file, 1000 * 5000), -EFBIG);
	cr_expect_eq(b2f_file_size(file), 1610);
	cr_expect_eq(b2f_file_end_write(file), 0);
}

Test(file_write, what_is_refused_sets_nothing)
{
	const struct b2f_encoding codec = {.codec = -5, .clevel = -1};
	const struct b2f_encoding clevel = {.codec = -1, .clevel = -7};
	const struct b2f_encoding none = {.codec = -1, .clevel = -1};
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 1 << 20);
	uint64_t off = 7;

	cr_expect_eq(b2f_file_set_encoding(s.file, &codec), -EINVAL);
	cr_expect_eq(b2f_file_set_encoding(s.file, &clevel), -EINVAL);
	cr_expect_eq(b2f_file_set_encoding(s.file, &none), 0);
	b2f_file_close(s.file);
	open_file(&s);
	cr_expect_eq(b2f_file_append(s.file, "x", 1, &off), -EBADF);
	cr_expect_eq(off, 7);
	cr_expect_null(b2f_suffix_text(B2F_SUFFIXES));
}

/* Another program removes the index, or puts it back. */
static void hide(const struct scratch *s, bool hidden)
{
	char index[160], other[160];

	snprintf(index, sizeof(index), "%s/chunks.b2frame", s->frame);
	snprintf(other, sizeof(other), "%s/hidden", s->frame);
	cr_assert_eq(hidden ? rename(index, other) : rename(other, index), 0);
}

static void fill_all(struct scratch *s)
{
	write_at(s, 0, 9000, 1);
}

static void cut_some(struct scratch *s)
{
	cut(s, 1500);
}

static void cut_all(struct scratch *s)
{
	cut(s, 0);
	write_at(s, 0, 700, 1);
}

static void encode_otherwise(struct scratch *s)
{
	const struct b2f_encoding none = {.codec = 5, .clevel = 0};

	cr_assert_eq(b2f_file_set_encoding(s->file, &none), 1);
	cut(s, 1500);
	write_at(s, 0, 4500, 1);
}

/* The data of the last commit are there again, and can be changed. */
Test(file_write, a_revert_without_a_frame_goes_back_to_the_last_commit)
{
	void (*const changes[])(struct scratch *) = {fill_all, cut_some,
						     cut_all, encode_otherwise};
	static uint8_t model[5000];

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		/* Little memory: some chunks are encoded before the commit. */
		OWN_SCRATCH struct scratch s = set_up(1, 1000, 4096);

		write_at(&s, 0, sizeof(model), 1);
		memcpy(model, s.model, sizeof(model));
		cr_assert_eq(b2f_file_commit(s.file, B2F_COMMIT_DURABLE), 0);
		changes[i](&s);
		hide(&s, true);
		cr_assert_eq(b2f_file_revert(s.file), 0);
		hide(&s, false);
		cr_assert(!b2f_file_is_dirty(s.file));
		memset(s.model, 0, MODEL_MAX);
		memcpy(s.model, model, sizeof(model));
		s.size = sizeof(model);
		check(&s, 0, sizeof(model));
		write_at(&s, 5, 1, 1);
		reopen(&s);
		check(&s, 0, sizeof(model));
	}
}

/* The kernel looks the name of a stale file up again. */
Test(file_write, a_frame_that_is_gone_is_stale)
{
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 1 << 20);

	b2f_file_close(s.file);
	open_file(&s);
	hide(&s, true);
	cr_expect_eq(b2f_file_allow_write(s.file, &s.options), -ESTALE);
	hide(&s, false);
	cr_assert_eq(b2f_file_allow_write(s.file, &s.options), 0);
	write_at(&s, 0, 700, 1);
	commit(&s);
	write_at(&s, 0, 700, 1);
	hide(&s, true);
	cr_expect_eq(b2f_file_commit(s.file, B2F_COMMIT_VISIBLE), -ESTALE);
	hide(&s, false);
	commit(&s);
}

/* Chunk files that another program may be about to name stay. */
Test(file_write, files_of_others_do_not_use_up_the_numbers)
{
	struct frame_dir in = {.path = ""};
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 1 << 20);
	char name[32];

	snprintf(in.path, sizeof(in.path), "%.50s/x.b2frame", s.dir.path);
	for (unsigned int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%08X.chunk", i);
		frame_dir_write(&in, name, "no seal", 7);
	}
	write_at(&s, 0, 3500, 1);
	commit(&s);
	check(&s, 0, 4000);
}

struct other_mount {
	int fd;
	atomic_bool had_lock;
};

/* Takes the lock of writers as soon as it is free, for a moment. */
static void *take_lock(void *arg)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct other_mount *other = arg;

	cr_expect_eq(flock(other->fd, LOCK_EX), 0);
	nanosleep(&pause, NULL);
	close(other->fd);
	atomic_store(&other->had_lock, true);
	return NULL;
}

/*
 * The file goes on with the index of another program; in between another mount
 * has had the lock, if it was quick enough.
 */
Test(file_write, a_writer_that_lost_its_lock_for_a_moment_goes_on)
{
	const struct timespec pause = {.tv_nsec = 30000000};
	struct frame_dir in = {.path = ""};
	struct other_mount other;
	OWN_SCRATCH struct scratch s = set_up(1, 1000, 1 << 20);
	pthread_t thread;
	bool changed = false;

	snprintf(in.path, sizeof(in.path), "%.50s/x.b2frame", s.dir.path);
	other.fd = open(s.frame, O_RDONLY | O_DIRECTORY);
	atomic_init(&other.had_lock, false);
	pthread_create(&thread, NULL, take_lock, &other);
	nanosleep(&pause, NULL);
	frame_dir_index(&in, 0, 0, 1000);
	nanosleep(&pause, NULL);
	cr_assert_eq(b2f_file_refresh(s.file, 0, &changed), 0);
	cr_assert(changed);
	for (int i = 0; i < 10 && !atomic_load(&other.had_lock); i++)
		nanosleep(&pause, NULL);
	write_at(&s, 0, 1500, 1);
	commit(&s);
	check(&s, 0, 2000);
	b2f_file_close(s.file);
	s.file = NULL;
	pthread_join(thread, NULL);
}
