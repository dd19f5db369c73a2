/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_convert_data.c - b2f_convert_data(): its reads, and errors that end it
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/frame_dir.h"

#define CHUNK 1000
#define SIZE  5300

/* Data from @hole_at up to @hole_end are zeros; reading fails from @bad on. */
struct source {
	uint8_t bytes[SIZE];
	uint64_t size;
	uint64_t hole_at;
	uint64_t hole_end;
	uint64_t bad;
	/*
	 * Bytes before this were read, or are in the hole; 0 with @any_order.
	 */
	uint64_t at;
	bool any_order;
};

static struct frame_dir dir;
static char path[128];
static struct b2f_runtime *runtime;
static struct source source;
static unsigned int nlogged;

static void count(void *arg, enum b2f_log_level level, const char *text)
{
	(void)arg, (void)level, (void)text;
	nlogged++;
}

static const struct b2f_log to_count = {.write = count,
					.max_level = B2F_LOG_ERROR};

static void setup(void)
{
	const struct b2f_runtime_options options = {.cache_bytes = 4 << 20,
						    .nworkers = 3};

	dir = frame_dir_new();
	snprintf(path, sizeof(path), "%s/x.b2f", dir.path);
	cr_assert_eq(b2f_runtime_new(&options, &runtime), 0);
	source = (struct source){
		.size = SIZE, .hole_at = UINT64_MAX, .bad = UINT64_MAX};
	for (unsigned int i = 0; i < SIZE; i++)
		source.bytes[i] = (uint8_t)(i * i >> 5 | 1);
}

static void teardown(void)
{
	b2f_runtime_free(runtime);
	frame_dir_remove(&dir);
}

TestSuite(convert_data, .init = setup, .fini = teardown, .timeout = 120);

static ssize_t read_source(void *arg, void *buf, size_t size, uint64_t off)
{
	struct source *s = arg;
	uint64_t n = off < s->size ? s->size - off : 0;

	n = n < size ? n : size;
	cr_assert(off < s->hole_at || off + n > s->hole_end);
	cr_assert(s->any_order || s->hole_end ? off >= s->at : off == s->at);
	s->at = s->any_order ? 0 : off + n;
	if (off + n > s->bad)
		return -EIO;
	memcpy(buf, s->bytes + off, n);
	return (ssize_t)n;
}

static uint64_t find_source(void *arg, uint64_t off)
{
	const struct source *s = arg;

	return off >= s->hole_at && off < s->hole_end ? s->hole_end : off;
}

static int make(struct b2f_data *data, bool contiguous)
{
	const struct b2f_convert_options options = {.mode = 0640,
						    .contiguous = contiguous};
	struct b2f_settings settings = b2f_settings_default();

	settings.chunksize = CHUNK;
	data->read = read_source;
	data->arg = &source;
	data->log = &to_count;
	return b2f_convert_data(runtime, &settings, data, &options, AT_FDCWD,
				path);
}

static struct b2f_file *open_made(void)
{
	const struct b2f_frame_options options = {.log = &to_count};
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;

	cr_assert_eq(b2f_frame_open(&options, AT_FDCWD, path, &frame), 0);
	cr_assert_eq(b2f_file_open(runtime, frame, &file), 0);
	return file;
}

/* Checks that the frame has the first @size bytes, and removes it. */
static void check(uint64_t size, bool contiguous)
{
	struct b2f_file *file = open_made();
	uint8_t buf[SIZE + 1];
	struct stat st;

	cr_assert_eq(b2f_file_pread(file, NULL, buf, sizeof(buf), 0),
		     (ssize_t)size);
	cr_assert_eq(memcmp(buf, source.bytes, size), 0);
	b2f_file_close(file);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(!S_ISDIR(st.st_mode), contiguous);
	cr_assert_eq(st.st_mode & 0666, 0640);
	if (contiguous)
		cr_assert_eq(unlink(path), 0);
	else
		cr_assert_eq(b2f_frame_remove(AT_FDCWD, path), 0);
	cr_assert_eq(nlogged, 0);
}

Test(convert_data, what_has_no_length_is_read_to_its_end)
{
	static const uint64_t sizes[] = {0,	    1,	       CHUNK - 1,
					 CHUNK,	    CHUNK + 1, 5 * CHUNK,
					 SIZE};

	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct b2f_data data = {.nbytes = 0};

		source.size = sizes[i / 2];
		source.at = 0;
		cr_assert_eq(make(&data, i % 2), 0);
		cr_assert_eq(data.nbytes, source.size);
		check(source.size, i % 2);
	}
}

Test(convert_data, no_more_is_taken_than_was_asked_for)
{
	struct b2f_data data = {.nbytes = 2 * CHUNK + 7};

	cr_assert_eq(make(&data, true), 0);
	cr_assert_eq(data.nbytes, 2 * CHUNK + 7);
	check(2 * CHUNK + 7, true);
}

Test(convert_data, what_became_shorter_is_taken_as_it_is)
{
	struct b2f_data data = {.nbytes = SIZE};

	source.size = 3 * CHUNK - 1;
	cr_assert_eq(make(&data, true), 0);
	cr_assert_eq(data.nbytes, 3 * CHUNK - 1);
	check(3 * CHUNK - 1, true);
}

Test(convert_data, chunks_in_a_hole_are_not_read)
{
	struct b2f_data data = {.nbytes = SIZE, .find = find_source};

	source.hole_at = CHUNK;
	source.hole_end = 3 * CHUNK + 5;
	memset(source.bytes + CHUNK, 0, 2 * CHUNK + 5);
	cr_assert_eq(make(&data, true), 0);
	check(SIZE, true);
}

Test(convert_data, what_cannot_be_read_leaves_nothing)
{
	for (uint64_t bad = 0; bad < SIZE; bad += CHUNK) {
		for (int contiguous = 0; contiguous < 2; contiguous++) {
			struct b2f_data data = {.nbytes = SIZE};

			source.bad = bad;
			source.at = 0;
			cr_assert_eq(make(&data, contiguous), -EIO);
			cr_assert_eq(access(path, F_OK), -1);
		}
	}
	/* The source reports its own errors. */
	cr_assert_eq(nlogged, 0);
}

Test(convert_data, a_npy_file_that_became_shorter_leaves_nothing)
{
	static const char head[] =
		"\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': "
		"False, 'shape': (5172,), }";
	struct b2f_data data = {.nbytes = SIZE, .is_npy = true};

	memset(source.bytes, ' ', 128);
	memcpy(source.bytes, head, sizeof(head) - 1);
	source.bytes[127] = '\n';
	source.any_order = true;
	cr_assert_eq(make(&data, true), 0);
	check(SIZE, true);
	source.size = SIZE - 1;
	cr_assert_eq(make(&data, true), -ESTALE);
	cr_assert_eq(access(path, F_OK), -1);
	cr_assert_eq(nlogged, 1);
}
