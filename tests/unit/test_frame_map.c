/* SPDX-License-Identifier: BSD-3-Clause */
/* test_frame_map.c - the table of places grows as far as a reader asks */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "b2frame/patience.h"
#include "frame/frame.h"
#include "tests/support/frame_dir.h"

#define NCHUNKS 1000

/* The test's store wraps the real store. */
static const struct b2f_store_ops *real;
static struct b2f_store_ops watched;
static _Atomic unsigned int nopened;
/* Chunks from here on open only when @gate does. */
static int64_t closed_from;
static sem_t gate, waiting;
/* The answer to opens, if not 0. */
static int refusal;

static int open_watched(struct b2f_store *store, int64_t id,
			struct b2f_object *out, struct b2f_why *why)
{
	if (id != B2F_OBJECT_INDEX) {
		nopened++;
		if (refusal)
			return b2f_why_set(why, refusal, "refused");
		if (id >= closed_from) {
			sem_post(&waiting);
			sem_wait(&gate);
			sem_post(&gate);
		}
	}
	return real->open(store, id, out, why);
}

static uint64_t size_of(uint64_t nchunk)
{
	return 10 + nchunk % 7;
}

static uint64_t start_of(uint64_t nchunk)
{
	uint64_t start = 0;

	for (uint64_t i = 0; i < nchunk; i++)
		start += size_of(i);
	return start;
}

/* A frame of NCHUNKS chunks of different sizes, in a store that is watched. */
static struct b2f_frame *open_frame(const struct frame_dir *dir)
{
	struct b2f_frame *frame;
	uint8_t data[32];

	memset(data, 'x', sizeof(data));
	for (uint32_t i = 0; i < NCHUNKS; i++)
		frame_dir_chunk(dir, i, data, (uint32_t)size_of(i), 32);
	frame_dir_index(dir, NCHUNKS, start_of(NCHUNKS), 0);
	frame = frame_at(AT_FDCWD, dir->path);
	real = frame->store->ops;
	watched = *real;
	watched.open = open_watched;
	frame->store->ops = &watched;
	nopened = 0;
	closed_from = INT64_MAX;
	refusal = 0;
	sem_init(&gate, 0, 0);
	sem_init(&waiting, 0, 0);
	return frame;
}

static void close_frame(struct b2f_frame *frame, const struct frame_dir *dir)
{
	frame->store->ops = real;
	b2f_frame_close(frame);
	frame_dir_remove(dir);
	sem_destroy(&gate);
	sem_destroy(&waiting);
}

static void remove_chunk(const struct frame_dir *dir, unsigned int nchunk)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%08X.chunk", dir->path, nchunk);
	cr_assert_eq(unlink(path), 0);
}

static void expect_place(struct b2f_frame *frame, uint64_t nchunk)
{
	struct b2f_frame_span span = {0};
	uint64_t off = start_of(nchunk) + size_of(nchunk) - 1;

	cr_assert_eq(b2f_frame_locate(frame, off, &span), 0);
	cr_assert_eq(span.nchunk, nchunk);
	cr_assert_eq(span.start, start_of(nchunk));
	cr_assert_eq(span.nbytes, size_of(nchunk));
	cr_assert_eq(b2f_frame_span_get(frame, nchunk, &span), 0);
	cr_assert_eq(span.start, start_of(nchunk));
	cr_assert_eq(span.nbytes, size_of(nchunk));
}

Test(frame_map, no_more_headers_are_read_than_needed)
{
	struct frame_dir dir = frame_dir_new();
	struct b2f_frame *frame = open_frame(&dir);

	expect_place(frame, 0);
	cr_assert_leq(nopened, 100);
	expect_place(frame, 500);
	cr_assert_leq(nopened, 600);
	expect_place(frame, 3);
	cr_assert_leq(nopened, 600);
	expect_place(frame, NCHUNKS - 1);
	for (uint64_t i = 0; i < NCHUNKS; i += 9)
		expect_place(frame, i);
	cr_assert_eq(nopened, NCHUNKS, "each header is read once");
	close_frame(frame, &dir);
}

static void *ask_for_the_end(void *arg)
{
	struct b2f_frame_span span = {0};
	intptr_t err = b2f_frame_span_get(arg, NCHUNKS - 1, &span);

	return (void *)(err ? err : span.start != start_of(NCHUNKS - 1));
}

Test(frame_map, a_reader_waits_for_what_it_needs_alone)
{
	struct frame_dir dir = frame_dir_new();
	struct b2f_frame *frame = open_frame(&dir);
	pthread_t threads[3];
	void *bad;

	closed_from = 300;
	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, ask_for_the_end,
					    frame),
			     0);
	sem_wait(&waiting);
	/* One thread is reading now, until it is released. */
	expect_place(frame, 0);
	expect_place(frame, 299);
	cr_assert_eq(nopened, 301);
	sem_post(&gate);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &bad);
		cr_assert_null(bad);
	}
	cr_assert_eq(nopened, NCHUNKS);
	close_frame(frame, &dir);
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

/* The thread that reads the headers may wait for a server for long. */
Test(frame_map, a_reader_whose_request_is_cancelled_stops_waiting)
{
	struct frame_dir dir = frame_dir_new();
	struct b2f_frame *frame = open_frame(&dir);
	struct b2f_frame_span span;
	pthread_t thread;
	void *bad;

	closed_from = 300;
	cr_assert_eq(pthread_create(&thread, NULL, ask_for_the_end, frame), 0);
	sem_wait(&waiting);
	b2f_patience_set(always, NULL);
	cr_assert_eq(b2f_frame_span_get(frame, NCHUNKS - 1, &span), -EINTR);
	b2f_patience_set(NULL, NULL);
	sem_post(&gate);
	pthread_join(thread, &bad);
	cr_assert_null(bad);
	expect_place(frame, NCHUNKS - 1);
	close_frame(frame, &dir);
}

Test(frame_map, what_is_not_known_hides_no_more_than_it_must)
{
	struct frame_dir dir = frame_dir_new();
	struct b2f_frame *frame = open_frame(&dir);
	struct b2f_frame_span span;

	remove_chunk(&dir, 100);
	remove_chunk(&dir, 900);
	expect_place(frame, 99);
	expect_place(frame, 901);
	expect_place(frame, NCHUNKS - 1);
	cr_assert_eq(b2f_frame_span_get(frame, 100, &span), B2F_ECORRUPT);
	cr_assert_eq(b2f_frame_span_get(frame, 500, &span), B2F_ECORRUPT);
	cr_assert_eq(b2f_frame_locate(frame, start_of(900), &span),
		     B2F_ECORRUPT);
	cr_assert_leq(nopened, 101 + 100, "those between do not matter");
	close_frame(frame, &dir);
}

Test(frame_map, one_size_that_is_not_known_follows_from_the_others)
{
	struct frame_dir dir = frame_dir_new();
	struct b2f_frame *frame = open_frame(&dir);

	remove_chunk(&dir, 100);
	for (uint64_t i = 0; i < NCHUNKS; i += 50)
		expect_place(frame, i);
	close_frame(frame, &dir);
}

Test(frame_map, errors_that_pass_are_not_remembered)
{
	static const int errors[] = {-EMFILE, -ENFILE, -ENOMEM};
	struct frame_dir dir = frame_dir_new();
	struct b2f_frame *frame = open_frame(&dir);
	struct b2f_frame_span span;

	for (size_t i = 0; i < 3; i++) {
		refusal = errors[i];
		cr_assert_eq(b2f_frame_span_get(frame, 500, &span), refusal);
		refusal = 0;
		expect_place(frame, 100 * i);
	}
	expect_place(frame, NCHUNKS - 1);
	close_frame(frame, &dir);
}
