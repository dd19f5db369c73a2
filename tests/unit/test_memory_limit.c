/* SPDX-License-Identifier: BSD-3-Clause */
/* test_memory_limit.c - limits of control groups, from made-up files */
#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/memory_limit.h"

#define MB (UINT64_C(1) << 20)

static char root_[] = "/tmp/b2f-memory-XXXXXX";

static void setup(void)
{
	cr_assert_not_null(mkdtemp(root_));
}

static int remove_it(const char *path, const struct stat *st, int type,
		     struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void teardown(void)
{
	cr_assert_eq(nftw(root_, remove_it, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Writes the file @name below the root; makes its directories. */
static void put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root_, name);
	for (char *p = path + strlen(root_) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		cr_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
		*p = '/';
	}
	f = fopen(path, "w");
	cr_assert_not_null(f);
	cr_assert_geq(fputs(text, f), 0);
	cr_assert_eq(fclose(f), 0);
}

TestSuite(memory_limit, .init = setup, .fini = teardown);

Test(memory_limit, without_groups_it_is_the_machines)
{
	uint64_t all = b2f_memory_limit(root_);

	cr_assert_gt(all, 16 * MB);
	put("/proc/self/cgroup", "0::/\n");
	cr_assert_eq(b2f_memory_limit(root_), all);
	put("/sys/fs/cgroup/memory.max", "max\n");
	cr_assert_eq(b2f_memory_limit(root_), all);
	put("/proc/self/cgroup", "no\n:\n4:memory\n");
	cr_assert_eq(b2f_memory_limit(root_), all);
}

Test(memory_limit, the_least_of_all_groups_above_counts)
{
	put("/proc/self/cgroup", "0::/user/session/job\n");
	put("/sys/fs/cgroup/user/session/job/memory.max", "max\n");
	put("/sys/fs/cgroup/user/session/memory.max", "9437184\n");
	put("/sys/fs/cgroup/user/memory.max", "12582912\n");
	cr_assert_eq(b2f_memory_limit(root_), 9 * MB);
	put("/sys/fs/cgroup/user/memory.high", "8388608\n");
	cr_assert_eq(b2f_memory_limit(root_), 8 * MB);
}

Test(memory_limit, version_1_has_its_own_tree)
{
	put("/proc/self/cgroup", "9:name=systemd:/a\n"
				 "8:cpuset,memory,pids:/a/b\n"
				 "7:memoryless:/c\n0::/\n");
	put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
	    "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1048576\n");
	put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "7340032\n");
	cr_assert_eq(b2f_memory_limit(root_), 7 * MB);
}

Test(memory_limit, a_container_sees_only_its_own_group)
{
	/* The path is the host's, the files are at the top. */
	put("/proc/self/cgroup", "4:memory:/docker/0123\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "6291456\n");
	cr_assert_eq(b2f_memory_limit(root_), 6 * MB);
}
