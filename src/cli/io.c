/* SPDX-License-Identifier: BSD-3-Clause */
/* io.c - read(2) and write(2) without short counts */
#include "cli/io.h"

#include <errno.h>
#include <unistd.h>

ssize_t cli_io_read(int fd, void *buf, size_t n, int64_t pos)
{
	char *at = buf;
	size_t done = 0;

	while (done < n) {
		ssize_t got = pos < 0 ? read(fd, at + done, n - done)
				      : pread(fd, at + done, n - done,
					      (off_t)pos + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int cli_io_write(int fd, const void *buf, size_t n, int64_t pos)
{
	const char *at = buf;
	size_t done = 0;

	while (done < n) {
		ssize_t put = pos < 0 ? write(fd, at + done, n - done)
				      : pwrite(fd, at + done, n - done,
					       (off_t)pos + (off_t)done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		done += (size_t)put;
	}
	return 0;
}
