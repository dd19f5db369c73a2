/* SPDX-License-Identifier: BSD-3-Clause */
/* from_stdin.c - a frame on standard input */
#include "cli/from_stdin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/io.h"
#include "cli/message.h"

#define NAME "standard input"

/* Copies the rest of standard input to a file; returns a descriptor. */
static int keep(void)
{
	const char *dir = getenv("TMPDIR");
	char buf[65536];
	ssize_t n;
	int err = 0;
	int fd = open(dir && *dir ? dir : "/tmp",
		      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	while (!err && (n = cli_io_read(STDIN_FILENO, buf, sizeof(buf),
					CLI_IO_NEXT)) != 0)
		err = n < 0 ? (int)n
			    : cli_io_write(fd, buf, (size_t)n, CLI_IO_NEXT);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Is it a regular file, read from its start? */
static bool is_whole_file(void)
{
	struct stat st;

	return fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
	       lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
}

int cli_from_stdin_open(const struct b2f_frame_options *options,
			struct b2f_frame **out)
{
	struct b2f_frame_options named = *options;
	int fd = is_whole_file() ? STDIN_FILENO : keep();
	char path[40];
	int err;

	named.label = NAME;
	if (fd < 0)
		return cli_message_errno(NAME, fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cli_message_forget();
	err = cli_message_explain(NAME,
				  b2f_frame_open(&named, AT_FDCWD, path, out));
	/* The frame has its own descriptor. */
	if (fd != STDIN_FILENO)
		close(fd);
	return err;
}
