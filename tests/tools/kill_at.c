/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kill_at.c - SIGKILL before the N-th call that changes a directory
 *
 * For LD_PRELOAD, with B2F_KILL_AT="N PATH": calls count while there is a file PATH.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void count(void)
{
	static atomic_int ncalls;
	const char *at = getenv("B2F_KILL_AT");
	const char *path = at ? strchr(at, ' ') : NULL;

	if (path && access(path + 1, F_OK) == 0 &&
	    atomic_fetch_add(&ncalls, 1) + 1 == atoi(at))
		kill(getpid(), SIGKILL);
}

/* The function that this one stands in front of. */
#define CALL(name, params, args)                                               \
	int name params                                                        \
	{                                                                      \
		int(*next) params;                                             \
                                                                               \
		*(void **)&next = dlsym(RTLD_NEXT, #name);                     \
		count();                                                       \
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
