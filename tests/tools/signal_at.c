/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signal_at.c - a signal to the program before its N-th call that changes a
 * directory, or that answers a request or writes data (writev, pwrite64,
 * pwritev64v2), or that reads a link (readlinkat), or fsync
 *
 * For LD_PRELOAD, with B2F_SIGNAL_AT="SIGNAL N CALL PATH".  Calls of that name
 * count, "any" for all that change a directory, while there is a file PATH.
 * SIGKILL is a crash there; with SIGSTOP a test can change what the program has
 * just looked at.  With 0 only the thread waits, until PATH has gone, and there
 * is PATH.held.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void hold(const char *path)
{
	char held[4200];
	int fd;

	snprintf(held, sizeof(held), "%s.held", path);
	fd = open(held, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	while (access(path, F_OK) == 0)
		usleep(1000);
}

static bool is_meant(const char *call, const char *name)
{
	return strcmp(call, name) == 0 ||
	       (strcmp(call, "any") == 0 && !strstr(name, "write") &&
		strcmp(name, "readlinkat") != 0 && strcmp(name, "fsync") != 0);
}

static void count(const char *name)
{
	static atomic_int ncalls;
	const char *what = getenv("B2F_SIGNAL_AT");
	char call[32], path[4096];
	int number, at;

	if (!what ||
	    sscanf(what, "%d %d %31s %4095s", &number, &at, call, path) != 4 ||
	    !is_meant(call, name) || access(path, F_OK))
		return;
	if (atomic_fetch_add(&ncalls, 1) + 1 != at)
		return;
	if (number == 0)
		hold(path);
	else
		/*
		 * A signal to the whole program would reach this thread too
		 * late.
		 */
		syscall(SYS_tgkill, getpid(), gettid(), number);
}

/* The function that this one stands in front of. */
#define CALL(name, params, args) CALL_OF(int, name, params, args)
#define CALL_OF(type, name, params, args)                                      \
	type name params                                                       \
	{                                                                      \
		type(*next) params;                                            \
                                                                               \
		*(void **)&next = dlsym(RTLD_NEXT, #name);                     \
		count(#name);                                                  \
		return next args;                                              \
	}

CALL(renameat, (int fd, const char *old, int to, const char *name),
     (fd, old, to, name))
CALL(renameat2,
     (int fd, const char *old, int to, const char *name, unsigned int flags),
     (fd, old, to, name, flags))
CALL(unlinkat, (int fd, const char *name, int flags), (fd, name, flags))
CALL(symlinkat, (const char *target, int fd, const char *name),
     (target, fd, name))
CALL(linkat, (int fd, const char *old, int to, const char *name, int flags),
     (fd, old, to, name, flags))
CALL(mkdirat, (int fd, const char *name, mode_t mode), (fd, name, mode))
CALL(fchownat,
     (int fd, const char *name, uid_t owner, gid_t group, int flags),
     (fd, name, owner, group, flags))
CALL(fchmodat, (int fd, const char *name, mode_t mode, int flags),
     (fd, name, mode, flags))

/* Counts as fchmodat. */
#define FCHMODAT2 452

long syscall(long number, ...)
{
	long a[6];
	va_list args;
	long (*next)(long number, ...);

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	if (number == FCHMODAT2)
		count("fchmodat");
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

CALL_OF(ssize_t, readlinkat, (int fd, const char *name, char *buf, size_t n),
	(fd, name, buf, n))
CALL_OF(ssize_t, writev, (int fd, const struct iovec *iov, int n), (fd, iov, n))
CALL_OF(ssize_t, pwrite64, (int fd, const void *buf, size_t n, off_t off),
	(fd, buf, n, off))
CALL_OF(ssize_t, pwritev64v2,
	(int fd, const struct iovec *iov, int n, off_t off, int flags),
	(fd, iov, n, off, flags))
CALL(fsync, (int fd), (fd))
