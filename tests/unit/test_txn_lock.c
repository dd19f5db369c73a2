/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_txn_lock.c - threads of one process that keep other programs out
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "file/writer.h"
#include "tests/support/fault_work.h"
#include "txn/protocol.h"

/* Ranges that nothing names, but that could not be given back, are not lost. */
Test(txn_lock, a_range_that_cannot_be_given_back_is_tried_again)
{
	static struct work w;
	struct b2f_txn *txn;
	uint64_t id = 0;

	begin(&w, make_disk(true));
	write_some(&w, 0, 9000, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	txn = w.file->writer->txn;
	cr_assert_eq(b2f_ranges_take(txn->store->ranges, 512, UINT64_MAX, 900,
				     &id),
		     0);
	cr_assert_eq(b2f_ids_add(&txn->garbage.dead, id), 0);
	/* Another thread waits for a program that has locked the frame. */
	pthread_mutex_lock(&txn->guard.mutex);
	b2f_writer_delete_dead(w.file, B2F_DELETE_PENDING);
	pthread_mutex_unlock(&txn->guard.mutex);
	cr_expect_eq(txn->garbage.dead.n, 1);
	b2f_writer_delete_dead(w.file, B2F_DELETE_PENDING);
	cr_expect_eq(txn->garbage.dead.n, 0);
	end(&w);
	fault_disk_free(w.disk);
}

#define NTIMES	 100000
#define NTHREADS 3

struct crowd {
	struct b2f_txn *txn;
	atomic_uint nrefused;
};

static void *come_and_go(void *arg)
{
	struct crowd *crowd = arg;

	for (int i = 0; i < NTIMES; i++) {
		if (b2f_txn_lock_out(crowd->txn, 0, NULL))
			atomic_fetch_add(&crowd->nrefused, 1);
		else
			b2f_txn_let_in(crowd->txn);
	}
	return NULL;
}

/* A commit that has no time left must not fail because of our own threads. */
Test(txn_lock, threads_do_not_lock_each_other_out)
{
	struct crowd crowd = {.nrefused = 0};
	pthread_t threads[NTHREADS];
	static struct work w;

	begin(&w, make_disk(true));
	crowd.txn = w.file->writer->txn;
	for (size_t i = 0; i < NTHREADS; i++)
		pthread_create(&threads[i], NULL, come_and_go, &crowd);
	for (size_t i = 0; i < NTHREADS; i++)
		pthread_join(threads[i], NULL);
	/* A thread that does not run for long may keep others waiting. */
	cr_expect_lt(atomic_load(&crowd.nrefused), NTHREADS * NTIMES / 100,
		     "%u", atomic_load(&crowd.nrefused));
	end(&w);
	fault_disk_free(w.disk);
}

/* A frame that another program, without locks, changes while it is claimed. */
static struct {
	const struct b2f_store_ops *real;
	struct b2f_store_ops ops;
	struct b2f_store_write_ops write;
	char path[128];
	uint8_t bytes[MODEL_MAX];
	size_t size;
	bool is_first;
} other;

static void write_other(void)
{
	int fd = open(other.path, O_WRONLY);

	cr_assert_eq(pwrite(fd, other.bytes, other.size, 0),
		     (ssize_t)other.size);
	close(fd);
}

static int write_beside(const struct b2f_object *object, uint64_t off,
			const void *buf, size_t n, struct b2f_why *why)
{
	bool is_claim = n == 1;
	int err;

	if (is_claim && other.is_first)
		write_other();
	err = other.real->write->write(object, off, buf, n, why);
	if (is_claim && !other.is_first)
		write_other();
	return err;
}

/* Opens other.path, with the store that @hooked tells. */
static struct b2f_file *open_path(struct b2f_runtime *rt, bool hooked)
{
	const struct b2f_write_options write = {.chunksize = CHUNKSIZE};
	struct b2f_frame *frame = frame_at(AT_FDCWD, other.path);
	struct b2f_file *file = NULL;

	if (hooked) {
		other.real = frame->store->ops;
		other.write = *other.real->write;
		other.write.write = write_beside;
		other.ops = *other.real;
		other.ops.write = &other.write;
		frame->store->ops = &other.ops;
	}
	cr_assert_eq(b2f_file_open(rt, frame, &file), 0);
	cr_assert_eq(b2f_file_allow_write(file, &write), 0);
	return file;
}

static void append_to(struct b2f_file *file, uint8_t byte)
{
	static uint8_t data[20000];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i / 7 + byte);
	cr_assert_eq(
		b2f_file_pwrite(file, data, sizeof(data), b2f_file_size(file)),
		(ssize_t)sizeof(data));
}

/* Returns whether all of the other program's frame is left. */
static bool is_left(void)
{
	static uint8_t now[MODEL_MAX];
	int fd = open(other.path, O_RDONLY);
	ssize_t n = pread(fd, now, other.size, 0);

	close(fd);
	return n == (ssize_t)other.size &&
	       !memcmp(now, other.bytes, other.size);
}

/*
 * Makes the frame that another program has appended to, and puts the frame
 * before that back.
 */
static void make_other(struct b2f_runtime *rt, const char *path)
{
	static uint8_t before[MODEL_MAX];
	struct b2f_file *file;
	int fd = open(path, O_RDWR);
	ssize_t n = read(fd, before, sizeof(before));

	file = open_path(rt, false);
	append_to(file, 1);
	cr_assert_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), 0);
	b2f_file_close(file);
	other.size = (size_t)pread(fd, other.bytes, sizeof(other.bytes), 0);
	cr_assert_eq(ftruncate(fd, n), 0);
	cr_assert_eq(pwrite(fd, before, (size_t)n, 0), n);
	close(fd);
}

/*
 * Makes the same frame with another trailer of the same length, as C-Blosc2
 * writes it.
 */
static void make_trailer(const char *path)
{
	const size_t tail = 17;
	int fd = open(path, O_RDONLY);

	other.size = (size_t)pread(fd, other.bytes, sizeof(other.bytes), 0);
	memset(other.bytes + other.size - tail, 0, tail);
	close(fd);
}

static struct frame_dir dir, sparse;
static struct b2f_runtime *rt;
static uint64_t nbytes;

static void begin_beside(void)
{
	const struct b2f_runtime_options options = {.nworkers = 1};

	dir = frame_dir_new();
	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	snprintf(sparse.path, sizeof(sparse.path), "%.60s/x", dir.path);
	snprintf(other.path, sizeof(other.path), "%s/y", dir.path);
	nbytes = make_varied_chunks(&sparse);
}

static void end_beside(void)
{
	b2f_runtime_free(rt);
	frame_dir_remove(&sparse);
	frame_dir_remove(&dir);
}

Test(txn_lock, what_a_program_writes_during_the_claim_stays)
{
	struct b2f_file *file;

	begin_beside();
	for (int i = 0; i < 3; i++) {
		/* Once before the claim, twice behind it. */
		other.is_first = i == 0;
		join_chunks(&sparse, other.path, nbytes);
		if (i < 2)
			make_other(rt, other.path);
		else
			make_trailer(other.path);
		file = open_path(rt, true);
		append_to(file, 2);
		cr_expect_neq(b2f_file_commit(file, B2F_COMMIT_DURABLE), 0);
		b2f_file_close(file);
		cr_expect(is_left(), "%d", i);
	}
	end_beside();
}

/* The file is longer than the frame that this writer knows. */
Test(txn_lock, what_a_program_has_appended_is_not_cut)
{
	struct b2f_file *file;
	struct stat st;

	begin_beside();
	for (int tidies = 0; tidies < 2; tidies++) {
		join_chunks(&sparse, other.path, nbytes);
		make_other(rt, other.path);
		file = open_path(rt, false);
		cr_assert_eq(b2f_file_pwrite(file, "ours", 4, 0), 4);
		cr_assert_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), 0);
		cr_assert_eq(stat(other.path, &st), 0);
		cr_assert_lt(st.st_size, (off_t)other.size);
		write_other();
		if (tidies)
			b2f_file_tidy(file, true, false);
		b2f_file_close(file);
		cr_expect(is_left(), "%d", tidies);
	}
	end_beside();
}

static void put_noise(struct b2f_file *file, uint64_t seed)
{
	static uint8_t noise[40000];
	static struct work w;

	w.seed = seed;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)next(&w);
	cr_assert_eq(b2f_file_pwrite(file, noise, sizeof(noise), nbytes),
		     (ssize_t)sizeof(noise));
	cr_assert_eq(b2f_file_commit(file, B2F_COMMIT_DURABLE), 0);
}

/* Where a chunk of ours was, another program may have one now. */
Test(txn_lock, what_a_program_has_written_is_not_given_back)
{
	struct b2f_file *file;
	int fd;

	begin_beside();
	join_chunks(&sparse, other.path, nbytes);
	file = open_path(rt, false);
	put_noise(file, 1);
	fd = open(other.path, O_RDONLY);
	other.size = (size_t)pread(fd, other.bytes, sizeof(other.bytes), 0);
	close(fd);
	put_noise(file, 2);
	cr_assert_gt(file->writer->txn->garbage.retired.n, 0);
	write_other();
	b2f_writer_delete_dead(file, B2F_DELETE_ALL);
	cr_expect(is_left());
	b2f_file_close(file);
	end_beside();
}
