/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write_frame.c - makes a frame of squares, and changes one of them
 *
 *   cc write_frame.c $(pkg-config --cflags --libs b2frame) -o write_frame
 *   ./write_frame squares.b2frame 1000000
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <b2frame/b2frame.h>

#define BATCH 4096

static void print_message(void *arg, enum b2f_log_level level,
			  const char *message)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "%s\n", message);
}

static int write_squares(struct b2f_file *file, uint64_t n)
{
	double squares[BATCH];
	ssize_t done;

	for (uint64_t i = 0; i < n; i += BATCH) {
		uint64_t count = n - i < BATCH ? n - i : BATCH;

		for (uint64_t k = 0; k < count; k++)
			squares[k] = (double)(i + k) * (double)(i + k);
		done = b2f_file_pwrite(file, squares, count * sizeof(double),
				       i * sizeof(double));
		if (done < 0)
			return (int)done;
	}
	return 0;
}

/* Any byte can be changed; only its chunk is compressed anew. */
static int change_first(struct b2f_file *file)
{
	double value = -1;
	ssize_t done = b2f_file_pwrite(file, &value, sizeof(value), 0);

	return done < 0 ? (int)done : 0;
}

static int fill(struct b2f_file *file, uint64_t n)
{
	static const struct b2f_write_options options = {0};
	int err = b2f_file_allow_write(file, &options);

	if (!err)
		err = write_squares(file, n);
	if (!err)
		err = change_first(file);
	/*
	 * Until the commit other readers see an empty frame, afterwards all
	 * squares.
	 */
	if (!err)
		err = b2f_file_commit(file, B2F_COMMIT_DURABLE);
	return err;
}

int main(int argc, char **argv)
{
	const struct b2f_log log = {print_message, NULL, B2F_LOG_WARNING};
	const struct b2f_frame_options options = {.log = &log};
	struct b2f_settings settings = b2f_settings_default();
	struct b2f_runtime_options defaults = {0};
	struct b2f_runtime *runtime = NULL;
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;
	int err;

	if (argc != 3) {
		fprintf(stderr, "usage: write_frame FRAME COUNT\n");
		return 2;
	}
	settings.typesize = sizeof(double);
	err = b2f_frame_create(&settings, AT_FDCWD, argv[1], 0666, true, &log);
	if (!err)
		err = b2f_frame_open(&options, AT_FDCWD, argv[1], &frame);
	if (!err)
		err = b2f_runtime_new(&defaults, &runtime);
	if (!err)
		err = b2f_file_open(runtime, frame, &file);
	if (!err) {
		/* The file owns the frame now. */
		frame = NULL;
		err = fill(file, strtoull(argv[2], NULL, 10));
	}
	b2f_file_close(file);
	b2f_frame_close(frame);
	b2f_runtime_free(runtime);
	if (err)
		fprintf(stderr, "write_frame: %s: %s\n", argv[1],
			b2f_strerror(err));
	return err ? 1 : 0;
}
