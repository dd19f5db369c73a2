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

/* A directory costs the kernel memory as long as we hold it open. */
#define KEPT_MAX 4096
#define KEPT_MIN 16

/* Number of reads that there can be at once: one in each thread. */
#define RESERVED_MAX 64
#define RESERVED_MIN 8

/*
 * Measured with a cache of 512 MiB and eight readers: two arenas and a trim
 * threshold of 8 MiB take 66 MiB beyond the cache, these 50, at the same speed;
 * mapping blocks from 256 KiB on takes 20, but page faults cost a quarter of
 * the speed.  Setting a threshold at all stops glibc from raising it by itself.
 */
#define ARENAS	       1
#define MMAP_THRESHOLD (4 << 20)
#define TRIM_THRESHOLD (1 << 20)

/* A quarter of the @limit: open frames and directories need most of them. */
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
	/* If it fails, the limit is what it was. */
	if (setrlimit(RLIMIT_NOFILE, &limit))
		getrlimit(RLIMIT_NOFILE, &limit);
	d.max_idle = quarter(limit.rlim_cur, KEPT_MIN, KEPT_MAX);
	if (limit.rlim_cur < INT_MAX)
		d.reserved_from = (int)limit.rlim_cur -
				  (int)quarter(limit.rlim_cur, RESERVED_MIN,
					       RESERVED_MAX);
	return d;
}

void fs_resources_tune_heap(void)
{
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
	mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);
}

void fs_resources_load_early(void)
{
	/*
	 * glibc loads this at the first pthread_cancel(3), which libfuse calls
	 * at the end, and aborts if there is no descriptor left for it.  If it
	 * is missing now, that is no worse than before.
	 */
	(void)dlopen("libgcc_s.so.1", RTLD_NOW);
}

/*
 * Capabilities that requests need: to act on files of all users as their
 * callers may (the kernel has checked that), to make files as the caller, and
 * to unmount.
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
