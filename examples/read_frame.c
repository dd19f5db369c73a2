/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_frame.c - prints bytes of a frame, as dd(1) would of a plain file
 *
 *   cc read_frame.c $(pkg-config --cflags --libs b2frame) -o read_frame
 *   ./read_frame squares.b2frame 800 16 | od -A d -t f8
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <b2frame/b2frame.h>

/* The library reads and decodes only the blocks that hold these bytes. */
static int print_bytes(struct b2f_file *file, uint64_t off, uint64_t left)
{
	char buf[65536];
	ssize_t n;

	while (left > 0) {
		n = b2f_file_pread(file, NULL, buf,
				   left < sizeof(buf) ? (size_t)left
						      : sizeof(buf),
				   off);
		if (n <= 0)
			return (int)n;
		if (fwrite(buf, 1, (size_t)n, stdout) != (size_t)n)
			return -EIO;
		off += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct b2f_runtime_options defaults = {0};
	struct b2f_frame_options options = {0};
	struct b2f_runtime *runtime = NULL;
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;
	int err;

	if (argc != 4) {
		fprintf(stderr, "usage: read_frame FRAME OFFSET LENGTH\n");
		return 2;
	}
	err = b2f_frame_open(&options, AT_FDCWD, argv[1], &frame);
	if (!err)
		err = b2f_runtime_new(&defaults, &runtime);
	if (!err)
		err = b2f_file_open(runtime, frame, &file);
	if (!err) {
		/* The file owns the frame now. */
		frame = NULL;
		err = print_bytes(file, strtoull(argv[2], NULL, 10),
				  strtoull(argv[3], NULL, 10));
	}
	b2f_file_close(file);
	b2f_frame_close(frame);
	b2f_runtime_free(runtime);
	if (!err && fflush(stdout))
		err = -errno;
	if (err)
		fprintf(stderr, "read_frame: %s: %s\n", argv[1],
			b2f_strerror(err));
	return err ? 1 : 0;
}
