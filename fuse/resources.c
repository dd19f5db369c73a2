/* SPDX-License-Identifier: BSD-3-Clause */
/* resources.c - descriptors, heap and capabilities of the process */
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "resources.h"

/* An open directory takes memory of the kernel. */
#define KEPT_MAX 4096
#define KEPT_MIN 16

/* At most so many reads run at once: one per thread. */
#define RESERVED_MAX 64
#define RESERVED_MIN 8

/*
 * Measured with a cache of 512 MiB and eight readers: two arenas and a trim
 * threshold of 8 MiB take 66 MiB beyond the cache; these values take 50 at the
 * same speed.  Mapping blocks from 256 KiB on takes 20, but its page faults
 * cost a quarter of the speed.  A threshold that is set also keeps glibc from
 * raising it.
 */
#define ARENAS	       1
#define MMAP_THRESHOLD (4 << 20)
#define TRIM_THRESHOLD (1 << 20)

/* A quarter of @limit: open frames and directories need the rest. */
static rlim_t quarter(rlim_t limit, rlim_t min, rlim_t max)
{
	limit /= 4;
	if (limit < min)
		return min;
	return limit > max ? max : limit;
}

struct fs_descriptors fs_resources_raise_files(void)
{
	struct fs_descriptors d = {KEPT_MIN, INT_MAX};
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return d;
	limit.rlim_cur = limit.rlim_max;
	/* If this fails, the limit stays. */
	if (setrlimit(RLIMIT_NOFILE, &limit))
		getrlimit(RLIMIT_NOFILE, &limit);
	d.max_idle = quarter(limit.rlim_cur, KEPT_MIN, KEPT_MAX);
	if (limit.rlim_cur < INT_MAX)
		d.reserved_from = (int)limit.rlim_cur -
				  (int)quarter(limit.rlim_cur, RESERVED_MIN,
					       RESERVED_MAX);
	return d;
}

void fs_resources_tune(void)
{
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
	mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);
	/*
	 * At its end libfuse calls pthread_cancel(3), for which glibc loads
	 * this library, and aborts if there is no free descriptor.  If it is
	 * missing now, that is no worse than before.
	 */
	(void)dlopen("libgcc_s.so.1", RTLD_NOW);
}

/*
 * Capabilities that requests need: to act on files of all users (the kernel has
 * checked that they may), to make files as the caller, and to unmount.
 */
static const unsigned int kept[] = {
	CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
	CAP_FOWNER, CAP_FSETID,	      CAP_SETUID,
	CAP_SETGID, CAP_MKNOD,	      CAP_SYS_ADMIN,
};

int fs_powers_get(struct fs_powers *powers)
{
	*powers = (struct fs_powers){.header.version =
					     _LINUX_CAPABILITY_VERSION_3};
	return (int)syscall(SYS_capget, &powers->header, powers->data);
}

int fs_powers_set(struct fs_powers *powers)
{
	return (int)syscall(SYS_capset, &powers->header, powers->data);
}

int fs_powers_drop(void)
{
	struct fs_powers powers;
	uint32_t mask[_LINUX_CAPABILITY_U32S_3] = {0};

	if (fs_powers_get(&powers))
		return -1;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		mask[CAP_TO_INDEX(kept[i])] |= CAP_TO_MASK(kept[i]);
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		powers.data[i].effective &= mask[i];
		powers.data[i].permitted &= mask[i];
		powers.data[i].inheritable &= mask[i];
	}
	return fs_powers_set(&powers);
}
