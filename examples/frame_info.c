/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_info.c - prints descriptions of frames as JSON
 *
 *   cc frame_info.c $(pkg-config --cflags --libs b2frame) -o frame_info
 *   ./frame_info *.b2nd
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <b2frame/b2frame.h>

#if B2F_VERSION_NUMBER < B2F_MAKE_VERSION(0, 1, 0)
#error "needs libb2frame 0.1"
#endif

static int print_info(const char *path)
{
	struct b2f_frame_options options = {0};
	struct b2f_frame *frame = NULL;
	char *json = NULL;
	int err;

	err = b2f_frame_open(&options, AT_FDCWD, path, &frame);
	if (!err)
		err = b2f_frame_describe(frame, false, &json);
	if (!err)
		puts(json);
	else
		fprintf(stderr, "frame_info: %s: %s\n", path, b2f_strerror(err));
	free(json);
	b2f_frame_close(frame);
	return err;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= print_info(argv[i]) != 0;
	return failed;
}
