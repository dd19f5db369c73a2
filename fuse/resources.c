/* SPDX-License-Identifier: BSD-3-Clause */
/* resources.c - how many descriptors and how much heap the process may use */
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <sys/resource.h>

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
