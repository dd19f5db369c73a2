/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_positions.c - directories without positions, as some FUSE servers show them
 *
 * For LD_PRELOAD: every d_off is 0, and a directory can only be read from its
 * begin.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t getdents64(int fd, void *buffer, size_t size)
{
	/* Small reads: a directory takes several buffers. */
	ssize_t n = syscall(SYS_getdents64, fd, buffer, size < 4096 ? size : 4096);

	for (ssize_t at = 0; at < n;) {
		struct dirent64 *d = (void *)((char *)buffer + at);

		at += d->d_reclen;
		d->d_off = 0;
	}
	return n;
}
