/* SPDX-License-Identifier: BSD-3-Clause */
/* resources.c - how many descriptors and how much heap the process may use */
#include <dlfcn.h>
#include <malloc.h>
#include <sys/resource.h>

#include "resources.h"

/* A directory costs the kernel memory as long as we hold it open. */
#define KEPT_MAX 4096
#define KEPT_MIN 16

/*
 * Measured with a cache of 512 MiB and eight readers: two arenas and a trim
 * threshold of 8 MiB take 66 MiB beyond the cache, these 50, at the same speed;
 * mapping blocks from 256 KiB on takes 20, but page faults cost a quarter of
 * the speed.  Setting a threshold at all stops glibc from raising it by itself.
 */
#define ARENAS	       1
#define MMAP_THRESHOLD (4 << 20)
#define TRIM_THRESHOLD (1 << 20)

size_t fs_resources_raise_files(void)
{
	struct rlimit limit;
	size_t kept;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return KEPT_MIN;
	limit.rlim_cur = limit.rlim_max;
	/* If it fails, the limit is what it was. */
	if (setrlimit(RLIMIT_NOFILE, &limit))
		getrlimit(RLIMIT_NOFILE, &limit);
	/* A quarter: open frames and folders need most of them. */
	kept = limit.rlim_cur / 4 > KEPT_MAX ? KEPT_MAX : limit.rlim_cur / 4;
	return kept < KEPT_MIN ? KEPT_MIN : kept;
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
